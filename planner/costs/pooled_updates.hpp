// What runs on all numbers of threads say together of the CPU's updates.
#pragma once

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// Scales the samples of the CPU's updates, for a prediction. A run tells what its number of
/// threads took while it ran; on a shared host that is a tenth more or less a minute later. So each
/// number's level (seconds over those by the profile's rates) becomes that of all numbers together,
/// and of its own distance from it the part that is more than runs differ by: a normal model of the
/// machine's level, each number's, and each run's, by what a probe saw of rates from round to
/// round. Where rounds agree, nothing changes; nor where no probe measured the rates. Numbers that
/// leave the engine's own threads fewer than two cores stand for themselves: beside a launcher and
/// copies they are slower than a probe's, and tell nothing of fewer.
[[nodiscard]] Calibration with_pooled_updates(const MachineProfile& profile,
                                              Calibration calibration);

}  // namespace sluice::planner
