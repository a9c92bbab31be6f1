// A machine's calibration, converted for the same machine with other numbers in its profile.
#pragma once

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// `calibration` of the machine `measured`, converted for the machine `changed`, which is the same
/// but for some numbers of its profile: times of copies, updates, launches and compute scale with
/// the profile's facts about them.
[[nodiscard]] Calibration rescaled(const Calibration& calibration, const MachineProfile& measured,
                                   const MachineProfile& changed);

}  // namespace sluice::planner
