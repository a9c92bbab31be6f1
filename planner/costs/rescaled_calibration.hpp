// What was measured on one machine, as it holds for a copy of it with other numbers.
#pragma once

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// Calibration of one machine for a copy of it with other numbers: times of copies, updates,
/// launches and compute scale with the profile's facts about them.
[[nodiscard]] Calibration rescaled(const Calibration& calibration, const MachineProfile& measured,
                                   const MachineProfile& changed);

}  // namespace sluice::planner
