// Peaks of a plan between bounds, from sums over its units: what is known of its layout before a
// graph is built.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/graph/record.hpp"
#include "planner/machines/resolved_machine.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Peaks of device and host.
struct MemoryRange {
  Bytes hbm_at_least{0};  ///< Bytes certainly live at one time.
  Bytes hbm_at_most{0};   ///< Every tensor at its own address, but staged state and waiting
                          ///< gradients where backward has left records.
  Bytes host_at_least{0};
};

/// Sizes that all plans of a job share, taken once.
class MemoryRanges {
 public:
  /// Both must outlive it.
  MemoryRanges(const Job& job, const ResolvedMachine& machine);
  /// Of a plan that uses no disk.
  [[nodiscard]] MemoryRange of(const Plan& plan) const;

 private:
  struct Sums;  ///< Bytes of a plan's units, by what they hold.
  [[nodiscard]] Sums sums(const Plan& plan) const;

  const Job* job_;
  const ResolvedMachine* machine_;
  BlockRecord record_;
  std::vector<std::int64_t> parameters_;  ///< Padded, by unit.
  Bytes workspace_{0};
};

}  // namespace sluice::planner
