// The cells of an experiment: one run each.
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
  std::size_t index = 0;            ///< From 0, in the order of the design.
  std::vector<std::string> levels;  ///< By factor.
  planner::RunConfig config;        ///< The plan is chosen with all terms of the model on.
  /// config.json text where fields of the model were set; config.model then names its file.
  std::optional<std::string> model_text;

  /// "weight_buffers=2, clip=off".
  [[nodiscard]] std::string name(const Experiment& experiment) const;
};

/// Which level each factor has, cell by cell, in the order of the design.
[[nodiscard]] std::vector<std::vector<std::size_t>> choices_of(const Experiment& experiment);

/// Cells in the order of the design; `models` is where files of changed models will lie. Throws
/// BadRequest naming the cell whose model has no such field, or not with such a value.
[[nodiscard]] std::vector<Cell> cells_of(const Experiment& experiment,
                                         const std::filesystem::path& models);

/// Writes the config.json of every cell whose model has fields of its own.
void write_models(const std::vector<Cell>& cells);

/// A part of the cells, for jobs that share the work: "2/8" is every eighth, from the second.
struct CellShare {
  std::size_t part = 1, parts = 1;
  [[nodiscard]] bool holds(std::size_t index) const { return index % parts == part - 1; }
};
/// Throws BadRequest naming --cells.
[[nodiscard]] CellShare parse_share(const std::string& text);

}  // namespace sluice::profiler
