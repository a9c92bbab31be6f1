// Bound of a job on a machine where every kernel runs at the fastest rate that any shape reached.
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
  /// bound_of() the job with kernels at their ceilings, copies and updates as calibrated.
  Bound bound;
  /// Seconds of one step's matrix products: the FLOPs that they need, at the ceiling.
  Seconds products{0};
  /// Seconds of one step's attention: the FLOPs that it needs, at the ceiling.
  Seconds attention{0};
  /// Seconds in which one step's element-wise kernels touch every operand once, at the memory's
  /// bandwidth.
  Seconds element_wise{0};
  [[nodiscard]] Seconds compute() const {
    return bound.each[static_cast<std::size_t>(BoundBy::compute)];
  }
};

/// The ceilings of a job on a machine. Predictor::bound() rests on the costs that the Predictor
/// predicts with, so kernels that were measured as slow raise it; this rests on the profile's
/// ceilings alone for compute, so that slow kernels show as a distance from it. products +
/// attention + element_wise = compute().
[[nodiscard]] Ceilings ceilings_of(const Job& job, const ResolvedMachine& machine,
                                   const Calibration& calibration, Residency residency);

/// Seconds of one compute task's work at the ceilings of `profile` (at_ceilings).
[[nodiscard]] Seconds ceiling_time(const Work& work, const MachineProfile& profile);

}  // namespace sluice::planner
