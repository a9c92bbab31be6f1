// What is known of a machine, as it is of one job.
#pragma once

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// `calibration` as predictions of `job` take it: with what measured passes tell of others
/// (sibling_costs.hpp), updates on the CPU pooled (pooled_updates.hpp), and what copies cost this
/// job's kernels (launch_delay.hpp).
[[nodiscard]] Calibration job_calibration(const Job& job, const MachineProfile& profile,
                                          Calibration calibration);

}  // namespace sluice::planner
