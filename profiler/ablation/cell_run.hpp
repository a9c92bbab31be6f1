// Runs one cell on a device.
#pragma once

#include <vector>

#include "profiler/ablation/cell_plan.hpp"

namespace sluice::profiler {

/// Runs the plan once, `warm_up` steps and then `steps`, and returns the times of the latter.
/// Throws what the engine throws.
[[nodiscard]] std::vector<Seconds> run_cell(const PlannedCell& planned,
                                            const Experiment& experiment);

}  // namespace sluice::profiler
