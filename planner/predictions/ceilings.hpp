// What the machine allows: the bound of a job where every kernel reaches the fastest rate that any
// shape reached on the machine.
#pragma once

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"
#include "planner/predictions/bound.hpp"
#include "planner/runs/run_config.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// `profile` with every kernel at its ceiling: matrix products at gemm_ceiling, attention at its
/// ceilings, element-wise kernels at the memory's bandwidth, nothing between kernels. A ceiling
/// that the profile lacks is the dense peak; none is below a rate that the profile has.
[[nodiscard]] MachineProfile at_ceilings(const MachineProfile& profile);

/// The bound of a job on a machine, whoever wrote the kernels, and what its compute part is.
struct Ceilings {
  Bound bound;              ///< bound_of at the ceilings; calibrated copies and updates kept.
  Seconds products{0};      ///< Of one step: required FLOPs of matrix products at the ceiling.
  Seconds attention{0};     ///< Likewise.
  Seconds element_wise{0};  ///< Every operand of the element-wise kernels once.
  [[nodiscard]] Seconds compute() const {
    return bound.each[static_cast<std::size_t>(BoundBy::compute)];
  }
};

/// Bound::time of a Predictor rests on the costs it predicts with: kernels that were measured slow
/// make it larger. This one rests on the profile's ceilings alone for compute, so that slow kernels
/// show as a distance from it. products + attention + element_wise = compute().
[[nodiscard]] Ceilings ceilings_of(const Job& job, const ResolvedMachine& machine,
                                   const Calibration& calibration, Residency residency);

/// Time of one compute task's work at the ceilings of `at_ceilings(profile)`.
[[nodiscard]] Seconds ceiling_time(const Work& work, const MachineProfile& profile);

}  // namespace sluice::planner
