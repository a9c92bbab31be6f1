// One cell run on a device.
#pragma once

#include <vector>

#include "profiler/ablation/cell_plan.hpp"

namespace sluice::profiler {

/// Runs the plan once: `warm_up` steps that are not looked at, then `steps`. Throws what the
/// engine throws.
[[nodiscard]] std::vector<Seconds> run_cell(const PlannedCell& planned,
                                            const Experiment& experiment);

}  // namespace sluice::profiler
