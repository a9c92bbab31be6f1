// Costs of passes that were never measured, from those that were.
#pragma once

#include "planner/calibration.hpp"
#include "planner/job.hpp"
#include "planner/machine.hpp"

namespace sluice::planner {

/// `source` of the samples that with_siblings adds: the cost model calls them fitted, not measured.
inline constexpr const char* kSiblingSource = "sibling";

/// Adds a sample for every pass over a block (forward, both recomputations, backward) of `job` that
/// has none while another has one: the profile's time, times what the measured pass took over the
/// profile's time for it. The passes run the same kernels on the same shapes, so the profile errs
/// on them alike; the deviation is 5 %. Recomputation is scaled like forward, and forward like
/// recomputation, before backward is asked.
[[nodiscard]] Calibration with_siblings(const Job& job, const MachineProfile& profile,
                                        Calibration calibration);

}  // namespace sluice::planner
