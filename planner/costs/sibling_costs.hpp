// Costs of passes that were never measured, derived from passes that were.
#pragma once

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// `calibration` with a sample for each pass of `job` that has none: the time that the profile's
/// probe measured of that very pass (probed_passes.hpp) where no run measured any pass that informs
/// it, else a derived one: the profile's time, times the ratio of measured to profiled time of
/// passes of any model and length (ratio_field.hpp), by runs and by the probe. Passes over blocks
/// and the loss inform each other; a pass over the embedding or a norm is informed by the same pass
/// of other jobs alone.
[[nodiscard]] Calibration with_siblings(const Job& job, const MachineProfile& profile,
                                        Calibration calibration);

}  // namespace sluice::planner
