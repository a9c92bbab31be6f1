// The page report.html of an experiment: tables and plots of its cells, predicted beside measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profiler/ablation/cell_result.hpp"
#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

/// Text of the HTML page; it depends only on the experiment, the cells' results and the program.
[[nodiscard]] std::string ablation_report(const Experiment& experiment,
                                          const std::vector<std::optional<CellResult>>& cells);

}  // namespace sluice::profiler
