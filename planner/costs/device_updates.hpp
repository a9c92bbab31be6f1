// Costs of optimizer updates on the device, from those that a machine's probe measured.
#pragma once

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// `calibration` with a sample for the optimizer update on the device of each of the job's units
/// that has none: what the profile's probe measured at that very size, else the time on the line
/// through all measured sizes (cost_family.hpp), since an update has a fixed time besides that of
/// its parameters. Unchanged where the probe measured no update.
[[nodiscard]] Calibration with_device_updates(const Job& job, const MachineProfile& profile,
                                              Calibration calibration);

}  // namespace sluice::planner
