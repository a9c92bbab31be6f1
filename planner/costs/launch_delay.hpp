// How much longer a GPU's kernels take to start while copies run.
#pragma once

#include "planner/costs/calibration.hpp"
#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// Commands of kernels come over the link that copies fill, so that each kernel starts later: by
/// about the same time whatever it computes (H200: 1 to 3 us beside copies to the device, 8 % of a
/// pass of 0.5 B and 1 % of one of 8 B; docs/design/prediction.md). Calibration knows these seconds
/// a kernel by:
[[nodiscard]] CostKey launch_delay_key(CopyDirection direction);

/// With what known delays make of compute's interference from copies for this job: the known or the
/// profile's factor, times t / (t + delay x kernels), both of a micro-batch's passes over blocks
/// and its loss, t by `calibration` or else the profile. Where no delay is known the calibration is
/// returned as it is.
[[nodiscard]] Calibration with_launch_delays(const Job& job, const MachineProfile& profile,
                                             Calibration calibration);

}  // namespace sluice::planner
