// One cell planned and predicted, without a device.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "planner/predictions/predict.hpp"
#include "planner/requests/request.hpp"
#include "profiler/ablation/cell_record.hpp"

namespace sluice::profiler {

/// What a cell's plan starts from.
struct PreparedCell {
  std::optional<planner::Request> run;  ///< None where no run can be made of it,
  std::string refusal;                  ///< which this says.
  /// Of the cell's run, its profile and calibration, its terms and the program; and, where it is to
  /// run, how. The same cell and program again: equal. Empty where no run can be made of it.
  std::string hash;
};

[[nodiscard]] PreparedCell prepare_cell(const Cell& cell, const Experiment& experiment);

/// A cell as planned: what is known of it, and what runs where it fits.
struct PlannedCell {
  CellRecord record;
  std::optional<planner::Predictor> predictor;
  std::optional<planner::PredictedStep> step;  ///< Of `predictor`, all terms on.
};

/// The cell's plan, by its plan file, its policy or a search of `effort` (0: the usual), and its
/// prediction with the cell's terms. What does not fit, and what no run can be made of, is said in
/// the record. Throws Interrupted once asked to stop.
[[nodiscard]] PlannedCell plan_cell(const Cell& cell, const PreparedCell& prepared,
                                    const std::string& name, std::int64_t effort,
                                    std::stop_token stop = {});

/// Of a cell that fits, on a device: its record says so where the engine does not execute it, or
/// where a factor gives the machine numbers that no setting gives the device. Its prediction stays.
void refuse_unrunnable(PlannedCell& planned, const Cell& cell, const Experiment& experiment);

}  // namespace sluice::profiler
