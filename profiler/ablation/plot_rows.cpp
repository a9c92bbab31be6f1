#include "profiler/ablation/plot_rows.hpp"

#include <algorithm>

namespace sluice::profiler {
namespace {

using AllCells = std::vector<std::optional<CellResult>>;

/// Text such as "link=6 GB/s" for the cell's level of a factor.
std::string level_text(const Experiment& experiment, const CellResult& cell, std::size_t factor) {
  return experiment.factors[factor].name + "=" + cell.levels[factor];
}

std::vector<PlotRow> plain_rows(const AllCells& cells) {
  std::vector<PlotRow> rows;
  for (std::size_t i = 0; i < cells.size(); ++i) rows.push_back({{}, cells[i]->name, i});
  return rows;
}

std::vector<PlotRow> rows_by_first_factor(const Experiment& experiment, const AllCells& cells) {
  std::vector<PlotRow> rows;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const CellResult& cell = *cells[i];
    PlotRow row{.heading = {}, .label = {}, .cell = i};
    if (i == 0 || cell.levels[0] != cells[i - 1]->levels[0]) {
      row.heading = level_text(experiment, cell, 0);
    }
    for (std::size_t factor = 1; factor < experiment.factors.size(); ++factor) {
      row.label += (factor > 1 ? ", " : "") + level_text(experiment, cell, factor);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The factor whose level differs from the first cell's; none for a cell with the first levels.
std::optional<std::size_t> factor_varied(const CellResult& first, const CellResult& cell) {
  for (std::size_t factor = 0; factor < cell.levels.size(); ++factor) {
    if (cell.levels[factor] != first.levels[factor]) return factor;
  }
  return std::nullopt;
}

std::vector<PlotRow> rows_by_varied_factor(const Experiment& experiment, const AllCells& cells) {
  std::vector<PlotRow> rows;
  std::optional<std::size_t> group;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto varied = factor_varied(*cells.front(), *cells[i]);
    if (!varied) {
      rows.push_back({{}, cells[i]->name, i});
      continue;
    }
    PlotRow row{.heading = {}, .label = level_text(experiment, *cells[i], *varied), .cell = i};
    if (varied != group) row.heading = experiment.factors[*varied].name;
    group = varied;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::vector<PlotRow> plot_rows(const Experiment& experiment, const AllCells& cells) {
  const bool known = std::ranges::all_of(
      cells, [&](const auto& cell) { return cell->levels.size() == experiment.factors.size(); });
  if (!known || experiment.factors.size() < 2) return plain_rows(cells);
  switch (experiment.design) {
    case Design::full:
      return rows_by_first_factor(experiment, cells);
    case Design::one_at_a_time:
      return rows_by_varied_factor(experiment, cells);
    case Design::paired:
      return plain_rows(cells);
  }
  return plain_rows(cells);
}

}  // namespace sluice::profiler
