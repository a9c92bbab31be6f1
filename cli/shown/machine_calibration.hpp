// Commands on a machine's calibration: showing it, deleting it, and importing it from another
// computer's file.
#pragma once

#include <string>

#include "planner/catalogue/store.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::cli {

/// Text of a table of every calibrated cost with its deviation, how often it was measured, by what
/// kind of run and by what clock; one line if there is no calibration.
[[nodiscard]] std::string calibration_table(const planner::MachineProfile& machine,
                                            const planner::Store& store);

/// Deletes the machine's calibration from the store; returns the text to print.
std::string reset_calibration(const planner::MachineProfile& machine, const planner::Store& store);

/// Adds to the machine's calibration those samples of `file` that belong to its profile; costs
/// measured in both become means weighted by count. Returns the text to print. Throws BadRequest if
/// the file has no such samples.
std::string merge_calibration(const planner::MachineProfile& machine, const std::string& file,
                              const planner::Store& store);

}  // namespace sluice::cli
