// The bound of a job where every kernel runs at the fastest rate that any shape reached on the
// machine.
#pragma once

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"
#include "planner/predictions/bound.hpp"
#include "planner/runs/run_config.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// `profile` with every kernel at its ceiling: matrix products at gemm_ceiling, attention at its
/// ceilings, element-wise kernels at the memory's bandwidth, and no time between kernels. A ceiling
/// that the profile lacks is the dense peak; none is below a rate that the profile has.
[[nodiscard]] MachineProfile at_ceilings(const MachineProfile& profile);

/// The bound of a job on a machine at the kernels' ceilings, and the parts of its compute time.
struct Ceilings {
  Bound bound;  ///< bound_of at the ceilings, with calibrated copies and updates.
  /// Time of one step's matrix products: the FLOPs they need, at the ceiling.
  Seconds products{0};
  Seconds attention{0};  ///< Time of one step's attention: the FLOPs it needs, at the ceiling.
  /// Time in which one step's element-wise kernels touch every operand once.
  Seconds element_wise{0};
  [[nodiscard]] Seconds compute() const {
    return bound.each[static_cast<std::size_t>(BoundBy::compute)];
  }
};

/// The ceilings of a job. Bound::time of a Predictor rests on the costs it predicts with, so
/// kernels measured as slow raise it; these rest on the profile's ceilings alone for compute, so
/// that slow kernels show as a distance from them. products + attention + element_wise = compute().
[[nodiscard]] Ceilings ceilings_of(const Job& job, const ResolvedMachine& machine,
                                   const Calibration& calibration, Residency residency);

/// Time of one compute task's work at the ceilings of `at_ceilings(profile)`.
[[nodiscard]] Seconds ceiling_time(const Work& work, const MachineProfile& profile);

}  // namespace sluice::planner
