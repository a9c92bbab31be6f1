#include "profiler/ablation/cell_ratio.hpp"

#include <string>

#include "planner/predictions/interval.hpp"

namespace sluice::profiler {
namespace {

/// Errors of a cell's step; one cause of its own where the cell keeps none.
planner::StepErrors errors_of(const CellResult& cell) {
  const CellPrediction& p = *cell.prediction;
  if (p.errors) return *p.errors;
  const Seconds deviation = (p.high - p.step) / planner::kInterval90;
  return {
      .step = p.step,
      .machine = cell.profile_hash,
      .causes = {{.cause = cell.hash, .group = cell.hash, .origin = "", .deviation = deviation}}};
}

}  // namespace

const CellResult& first_that_fits(const std::vector<std::optional<CellResult>>& cells) {
  for (const auto& cell : cells) {
    if (cell->status == CellStatus::fits) return *cell;
  }
  return *cells.front();
}

std::optional<planner::RatioInterval> speed_beside(const CellResult& first,
                                                   const CellResult& cell) {
  for (const CellResult* one : {&first, &cell}) {
    if (one->status != CellStatus::fits || !one->prediction) return std::nullopt;
  }
  const CellPrediction &a = *first.prediction, &b = *cell.prediction;
  planner::RatioInterval ratio = planner::ratio_interval(errors_of(first), errors_of(cell));
  // Cells may train on different numbers of tokens a step.
  const double scale = b.tokens_per_s / a.tokens_per_s / ratio.ratio;
  for (double* number : {&ratio.ratio, &ratio.low, &ratio.high}) *number *= scale;
  return ratio;
}

}  // namespace sluice::profiler
