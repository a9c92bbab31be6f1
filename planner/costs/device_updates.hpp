// Costs of optimizer updates on the device, from those that a machine's probe measured.
#pragma once

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// `calibration` with a sample for the update of each of the job's units on the device that has
/// none: the probe's of that very size, else the time on the line through all measured sizes
/// (cost_family.hpp), since a unit's update has a fixed time besides its parameters'. Unchanged
/// where the profile's probe measured no update.
[[nodiscard]] Calibration with_device_updates(const Job& job, const MachineProfile& profile,
                                              Calibration calibration);

}  // namespace sluice::planner
