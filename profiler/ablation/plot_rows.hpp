// Rows of an experiment's plot: its cells, grouped by a factor and labelled by the others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profiler/ablation/cell_result.hpp"
#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

struct PlotRow {
  /// Heading above the row, where a group begins with it; none elsewhere.
  std::optional<std::string> heading;
  std::string label;     ///< What tells the cell from others of its group.
  std::size_t cell = 0;  ///< Index of the cell.
};

/// Rows of all cells, in the design's order. Of a full design each level of the first factor is a
/// group, and labels name the levels of the other factors; of one factor at a time each factor is a
/// group behind the baseline; with one factor, or paired levels, there are no groups.
[[nodiscard]] std::vector<PlotRow> plot_rows(const Experiment& experiment,
                                             const std::vector<std::optional<CellResult>>& cells);

}  // namespace sluice::profiler
