// The cells of an experiment; each is one run.
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
  std::size_t index = 0;            ///< Number of the cell, from 0, in the order of the design.
  std::vector<std::string> levels;  ///< Name of the level of each factor.
  /// The cell's run. Its plan is chosen with all terms of the model on.
  planner::RunConfig config;
  /// The config.json text of a model whose fields the cell sets; config.model then names its file.
  std::optional<std::string> model_text;

  /// Name of the cell by its levels, such as "weight_buffers=2, clip=off".
  [[nodiscard]] std::string name(const Experiment& experiment) const;
};

/// Index of each factor's level, for every cell in the order of the design.
[[nodiscard]] std::vector<std::vector<std::size_t>> choices_of(const Experiment& experiment);

/// Cells in the order of the design; `models` is the folder for files of changed models. Throws
/// BadRequest naming the cell whose model has no such field, or cannot have that value.
[[nodiscard]] std::vector<Cell> cells_of(const Experiment& experiment,
                                         const std::filesystem::path& models);

/// Writes the config.json of every cell that sets fields of its model.
void write_models(const std::vector<Cell>& cells);

/// A part of the cells, for processes that share the work: "2/8" is every eighth cell from the
/// second.
struct CellShare {
  std::size_t part = 1, parts = 1;
  [[nodiscard]] bool holds(std::size_t index) const { return index % parts == part - 1; }
};
/// Parses a share such as "2/8". Throws BadRequest naming --cells.
[[nodiscard]] CellShare parse_share(const std::string& text);

}  // namespace sluice::profiler
