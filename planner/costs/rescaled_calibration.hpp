// Conversion of a machine's calibration for a copy of the machine with other numbers.
#pragma once

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// The calibration of a machine converted for a copy of it with other numbers: times of copies,
/// updates, launches and compute scale with the profile's facts about them.
[[nodiscard]] Calibration rescaled(const Calibration& calibration, const MachineProfile& measured,
                                   const MachineProfile& changed);

}  // namespace sluice::planner
