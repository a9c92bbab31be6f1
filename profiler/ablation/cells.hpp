// Cells of an experiment, each of which is one run.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "planner/runs/run_config.hpp"
#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

struct Cell {
  std::size_t index = 0;  ///< Number of the cell, from 0, in the design's order.
  /// Name of the cell's level of each factor, in the factors' order.
  std::vector<std::string> levels;
  /// The run that the cell is; its plan is chosen with all terms of the model of time on.
  planner::RunConfig config;
  /// Text of the config.json of the cell's model, if the cell sets fields of it; config.model is
  /// then the path of that file. None for an unchanged model.
  std::optional<std::string> model_text;

  /// Name of the cell by its levels, such as "weight_buffers=2, clip=off".
  [[nodiscard]] std::string name(const Experiment& experiment) const;
};

/// For every cell, in the design's order, the index of its level of each factor.
[[nodiscard]] std::vector<std::vector<std::size_t>> choices_of(const Experiment& experiment);

/// All cells of the experiment, in the design's order; `models` is the folder for config.json files
/// of changed models, which are not written yet. Throws BadRequest naming the cell whose model has
/// no such field, or cannot have that value.
[[nodiscard]] std::vector<Cell> cells_of(const Experiment& experiment,
                                         const std::filesystem::path& models);

/// Writes the config.json of every cell that sets fields of its model.
void write_models(const std::vector<Cell>& cells);

/// A part of the cells, so that several processes can share the work: "2/8" is every eighth cell
/// from the second.
struct CellShare {
  std::size_t part = 1, parts = 1;
  [[nodiscard]] bool holds(std::size_t index) const { return index % parts == part - 1; }
};
/// Parses a share of the cells such as "2/8". Throws BadRequest naming --cells.
[[nodiscard]] CellShare parse_share(const std::string& text);

}  // namespace sluice::profiler
