// Pooling of calibrated CPU updates over all numbers of threads.
#pragma once

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// `calibration` with its samples of CPU updates scaled for a prediction. A run measures its own
/// number of threads at its own time, but a shared host's rates drift. So the level of each number
/// of threads (seconds over those by the profile's rates) is drawn towards the level common to all,
/// as far as its distance from it is explained by the drift between runs: a normal model of the
/// machine's level, each thread count's and each run's, with the deviations that a probe saw
/// between its repetitions. Unchanged where those agree or where no probe measured the rates.
/// Thread counts that leave fewer than two cores to the engine's own threads are left out.
[[nodiscard]] Calibration with_pooled_updates(const MachineProfile& profile,
                                              Calibration calibration);

}  // namespace sluice::planner
