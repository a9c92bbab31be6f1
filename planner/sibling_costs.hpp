// Costs of passes that were never measured, from those that were.
#pragma once

#include "planner/calibration.hpp"
#include "planner/job.hpp"
#include "planner/machine.hpp"

namespace sluice::planner {

/// `source` of the samples that with_siblings adds: the cost model calls them fitted, not measured.
inline constexpr const char* kSiblingSource = "sibling";

/// Adds samples for passes of `job` that have none: the profile's time, times what measured
/// passes took over the profile's time for them.
/// - The same pass of other jobs, whatever their model and length: the geometric mean of those
///   ratios, the nearer shape (hidden size, head size, sequence length, tokens of a micro-batch;
///   distances in logarithms) counting more. Kernels of one family err alike where shapes are
///   alike.
/// - Where no job's was measured, for passes over a block: the same job's other passes, which run
///   the same kernels on the same shapes. Recomputation is scaled like forward, and forward like
///   recomputation, before backward is asked.
/// The deviation is 5 %, and more the further away the nearest one is.
[[nodiscard]] Calibration with_siblings(const Job& job, const MachineProfile& profile,
                                        Calibration calibration);

}  // namespace sluice::planner
