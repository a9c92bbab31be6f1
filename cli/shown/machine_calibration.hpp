// What calibration knows of a machine: shown, forgotten, or taken over from another computer's
// file.
#pragma once

#include <string>

#include "planner/catalogue/store.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::cli {

/// A table of every calibrated cost with its deviation, how often it was measured, by whom and by
/// what clock; one line where there is none.
[[nodiscard]] std::string calibration_table(const planner::MachineProfile& machine,
                                            const planner::Store& store);

/// Forgets the machine's calibration; returns what to print.
std::string reset_calibration(const planner::MachineProfile& machine, const planner::Store& store);

/// Adds the samples of `file` that are of this machine's profile; costs measured in both become
/// count-weighted means. Returns what to print. Throws BadRequest where there are none.
std::string merge_calibration(const planner::MachineProfile& machine, const std::string& file,
                              const planner::Store& store);

}  // namespace sluice::cli
