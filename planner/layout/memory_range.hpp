// Bounds on the memory peaks of a plan, from sums over its units, before a graph is built.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/graph/record.hpp"
#include "planner/machines/resolved_machine.hpp"
#include "planner/models/job.hpp"
#include "planner/models/unit_size.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Bounds on the peaks of device and host memory, in bytes.
struct MemoryRange {
  /// The most device bytes that must be live at one time, with the workspace. The workspace counts
  /// also at the time when the gradient norm is known, although no pass uses it then; so this may
  /// exceed the peak by at most the workspace.
  Bytes hbm_at_least{0};
  /// Device bytes where every tensor has bytes of its own, except that staged state and gradients
  /// that wait for their update may use what the backward pass has freed of records.
  Bytes hbm_at_most{0};
  Bytes host_at_least{0};
};

/// Computes memory ranges of a job's plans, from sizes that all plans share and that are computed
/// once.
class MemoryRanges {
 public:
  /// Computes the sizes that plans share; `job` and `machine` must outlive the object. For plans of
  /// several `ranks`, `job` is the part of each (part_of_rank): device memory is that of one rank,
  /// host memory that of all.
  MemoryRanges(const Job& job, const ResolvedMachine& machine, std::int64_t ranks = 1);
  /// Bounds on the memory peaks of `plan`, which must not use the disk.
  [[nodiscard]] MemoryRange of(const Plan& plan) const;

 private:
  struct Sums;  ///< Sums over a plan's units of bytes by content.
  [[nodiscard]] Sums sums(const Plan& plan) const;
  [[nodiscard]] Bytes group_slots(const Plan& plan) const;
  [[nodiscard]] Bytes of_exchanges(const Plan& plan) const;

  const Job* job_;
  const ResolvedMachine* machine_;
  std::int64_t ranks_;
  BlockRecord record_;
  std::vector<std::int64_t> parameters_;  ///< Parameters of each unit, padding included.
  std::vector<UnitSize> sizes_;           ///< Sizes of each unit's vectors.
  Bytes rank_sums_;                       ///< Bytes of one rank's sums (StepSums::run).
  Bytes workspace_{0};
};

}  // namespace sluice::planner
