// Launch delay: how much longer a GPU's kernels take to start while copies run.
#pragma once

#include "planner/costs/calibration.hpp"
#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// Calibration's key for the launch delay, in seconds a kernel, while copies in `direction` run.
/// Kernel commands cross the link that copies fill, so each kernel starts later by about the same
/// time whatever it computes (docs/design/prediction.md).
[[nodiscard]] CostKey launch_delay_key(CopyDirection direction);

/// `calibration` with compute's interference from copies adjusted to this job's kernels: the factor
/// is multiplied by t / (t + delay x kernels), where t and kernels are the time and the kernels of
/// one micro-batch's passes over blocks and its loss. Unchanged where no delay is known.
[[nodiscard]] Calibration with_launch_delays(const Job& job, const MachineProfile& profile,
                                             Calibration calibration);

}  // namespace sluice::planner
