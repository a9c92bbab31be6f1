// Planning and prediction of one cell, without a device.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "planner/predictions/predict.hpp"
#include "planner/requests/request.hpp"
#include "profiler/ablation/cell_result.hpp"

namespace sluice::profiler {

/// A cell before its plan is chosen.
struct PreparedCell {
  /// The cell's run, resolved; none where the cell is not a valid run.
  std::optional<planner::Request> run;
  std::string refusal;  ///< Why the cell is not a valid run; empty where it is one.
  /// Hash of everything that the cell's result depends on: its run, profile, calibration, terms,
  /// the program and, where it is to run, how. Empty where the cell is not a valid run.
  std::string hash;
};

[[nodiscard]] PreparedCell prepare_cell(const Cell& cell, const Experiment& experiment);

/// A cell with its plan: its results so far, and what is needed to run it.
struct PlannedCell {
  CellResult result;
  std::optional<planner::Predictor> predictor;
  /// Prediction by `predictor`, with all terms of the model of time on; none where there is no plan
  /// to run.
  std::optional<planner::PredictedStep> step;
};

/// Chooses the cell's plan by its plan file, its policy or a search that simulates at most `effort`
/// tasks (0 for the usual number), and predicts it with the cell's terms. `name` is the cell's. The
/// result says where the plan does not fit or the cell is not a valid run. Throws Interrupted once
/// stop is requested.
[[nodiscard]] PlannedCell plan_cell(const Cell& cell, const PreparedCell& prepared,
                                    const std::string& name, std::int64_t effort,
                                    std::stop_token stop = {});

/// Marks a cell that fits as refused if Sluice cannot execute its job or plan, or if a factor
/// changes numbers of the machine that no setting can give the device. Its prediction stays.
void refuse_unrunnable(PlannedCell& planned, const Cell& cell, const Experiment& experiment);

}  // namespace sluice::profiler
