// Launch delay: how much later a GPU's kernels start while copies run.
#pragma once

#include "planner/costs/calibration.hpp"
#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// Calibration's key for the launch delay: by how many seconds each kernel starts later while
/// copies in `direction` run. Kernel commands cross the link that copies fill, so this time is
/// about the same whatever the kernel computes (docs/design/prediction.md).
[[nodiscard]] CostKey launch_delay_key(CopyDirection direction);

/// `calibration` with the interference that copies cause on the compute lane adjusted to this job's
/// kernels: its factor is multiplied by t / (t + delay x kernels), where t and kernels are the time
/// and the number of kernels of one micro-batch's passes over blocks and its loss. Unchanged where
/// no launch delay is known.
[[nodiscard]] Calibration with_launch_delays(const Job& job, const MachineProfile& profile,
                                             Calibration calibration);

}  // namespace sluice::planner
