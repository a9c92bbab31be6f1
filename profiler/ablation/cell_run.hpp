// Execution of one cell on a device.
#pragma once

#include <vector>

#include "profiler/ablation/cell_plan.hpp"

namespace sluice::profiler {

/// Runs the cell's plan once, for `warm_up` and then `steps` steps of the experiment, and returns
/// the times of the latter. Throws what the engine throws.
[[nodiscard]] std::vector<Seconds> run_cell(const PlannedCell& planned,
                                            const Experiment& experiment);

}  // namespace sluice::profiler
