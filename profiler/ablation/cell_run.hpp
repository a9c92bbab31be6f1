// One cell planned, predicted and run.
#pragma once

#include <optional>

#include "planner/predict.hpp"
#include "profiler/ablation/cell_record.hpp"

namespace sluice::profiler {

/// A cell as planned: what is known of it, and what runs where it fits.
struct PlannedCell {
  CellRecord record;
  std::optional<planner::Predictor> predictor;
  std::optional<planner::PredictedStep> step;  ///< Of `predictor`, all terms on.
};

/// The cell's plan, by its plan file, its policy or a search of `effort` (0: the usual), and its
/// prediction with the cell's terms. What does not fit, and what no run can be made of, is said in
/// the record.
[[nodiscard]] PlannedCell plan_cell(const Cell& cell, const std::string& name, std::int64_t effort);

/// Hash of the cell's run, its profile and calibration, its terms and the program; and, where it is
/// to run, how. The same cell and program again: equal. Empty where no run can be made of it.
[[nodiscard]] std::string cell_hash(const Cell& cell, const Experiment& experiment);

/// Runs the plan once: `warm_up` steps that are not looked at, then `steps`. Throws what the
/// engine throws.
[[nodiscard]] std::vector<Seconds> run_cell(const PlannedCell& planned,
                                            const Experiment& experiment);

}  // namespace sluice::profiler
