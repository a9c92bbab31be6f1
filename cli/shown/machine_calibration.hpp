// Calibration of a machine: showing it, deleting it, and importing it from another computer's file.
#pragma once

#include <string>

#include "planner/catalogue/store.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::cli {

/// A table of every calibrated cost with its deviation, how often it was measured, by what kind of
/// run and by what clock; one line if there is no calibration.
[[nodiscard]] std::string calibration_table(const planner::MachineProfile& machine,
                                            const planner::Store& store);

/// Deletes the machine's calibration; returns the text to print.
std::string reset_calibration(const planner::MachineProfile& machine, const planner::Store& store);

/// Adds those samples of `file` that belong to this machine's profile; costs measured in both
/// become count-weighted means. Returns the text to print. Throws BadRequest if the file has no
/// such samples.
std::string merge_calibration(const planner::MachineProfile& machine, const std::string& file,
                              const planner::Store& store);

}  // namespace sluice::cli
