// A machine's calibration, completed with what predictions of one job need.
#pragma once

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// `calibration` as predictions of `job` use it: with samples derived for passes that were never
/// measured (sibling_costs.hpp), updates on the device (device_updates.hpp), CPU updates pooled
/// over thread counts (pooled_updates.hpp), and the delay that copies cause this job's kernels
/// (launch_delay.hpp).
[[nodiscard]] Calibration job_calibration(const Job& job, const MachineProfile& profile,
                                          Calibration calibration);

}  // namespace sluice::planner
