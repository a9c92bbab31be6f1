// Plans and predicts one cell, without a device.
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
  /// What the cell's plan starts from; none where the cell is not a valid run.
  std::optional<planner::Request> run;
  std::string refusal;  ///< Why the cell is not a valid run; else empty.
  /// Hash of the cell's run, its profile and calibration, its terms, the program and, where it is
  /// to run, how. Equal for the same cell and program. Empty where the cell is not a valid run.
  std::string hash;
};

[[nodiscard]] PreparedCell prepare_cell(const Cell& cell, const Experiment& experiment);

/// A cell with its plan: its results so far, and what runs where it fits.
struct PlannedCell {
  CellResult result;
  std::optional<planner::Predictor> predictor;
  std::optional<planner::PredictedStep> step;  ///< Prediction of `predictor`, with all terms on.
};

/// Chooses the cell's plan by its plan file, its policy or a search of `effort` (0 for the usual),
/// and predicts it with the cell's terms. The result says where the plan does not fit or the cell
/// is not a valid run. Throws Interrupted once stop is requested.
[[nodiscard]] PlannedCell plan_cell(const Cell& cell, const PreparedCell& prepared,
                                    const std::string& name, std::int64_t effort,
                                    std::stop_token stop = {});

/// Marks a cell that fits as refused where the engine does not execute it, or where a factor gives
/// the machine numbers that no setting gives the device. The prediction stays.
void refuse_unrunnable(PlannedCell& planned, const Cell& cell, const Experiment& experiment);

}  // namespace sluice::profiler
