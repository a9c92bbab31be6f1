// Bounds on the memory peaks of a plan, from sums over its units, before a graph is built.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/graph/record.hpp"
#include "planner/machines/resolved_machine.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Bounds on the peaks of device and host memory.
struct MemoryRange {
  /// Bytes live at one time, and the workspace: it counts where the norm is known, too, when no
  /// pass uses it, so that this may exceed the peak by at most the workspace.
  Bytes hbm_at_least{0};
  /// Bytes with every tensor at its own address, except that staged state and waiting gradients may
  /// use what backward has freed of records.
  Bytes hbm_at_most{0};
  Bytes host_at_least{0};
};

/// Computes memory ranges of a job's plans from sizes that they all share, computed once.
class MemoryRanges {
 public:
  /// `job` and `machine` must outlive the object.
  MemoryRanges(const Job& job, const ResolvedMachine& machine);
  /// The range of a plan that uses no disk.
  [[nodiscard]] MemoryRange of(const Plan& plan) const;

 private:
  struct Sums;  ///< Bytes of a plan's units by content.
  [[nodiscard]] Sums sums(const Plan& plan) const;

  const Job* job_;
  const ResolvedMachine* machine_;
  BlockRecord record_;
  std::vector<std::int64_t> parameters_;  ///< Parameters of each unit, padding included.
  Bytes workspace_{0};
};

}  // namespace sluice::planner
