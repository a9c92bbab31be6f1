// Costs of passes that were never measured, from those that were.
#pragma once

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// `source` of the samples that with_siblings adds: the cost model calls them fitted, not measured.
inline constexpr const char* kSiblingSource = "sibling";

/// Adds samples for passes of `job` that have none: the profile's time, times what measured passes
/// took over the profile's time for them, whatever their job's model and length (ratio_field.hpp).
/// Passes over blocks and the loss tell of each other; passes over the embedding, and norms, of the
/// same pass of other jobs alone.
[[nodiscard]] Calibration with_siblings(const Job& job, const MachineProfile& profile,
                                        Calibration calibration);

}  // namespace sluice::planner
