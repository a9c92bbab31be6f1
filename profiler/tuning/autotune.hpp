// Plans, runs, compares, calibrates and plans again, until the prediction of an unchanged plan
// holds.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "planner/requests/choose_plan.hpp"
#include "planner/requests/request.hpp"
#include "planner/search/remedies.hpp"
#include "profiler/cupti/collector.hpp"
#include "profiler/fits/calibration_fit.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// One iteration of autotune: the plan, its prediction and its measurement.
struct TuneIteration {
  int number = 1;
  planner::Plan plan;
  std::string plan_hash;
  /// Predicted before the plan ran, with the calibration of the iteration before.
  Seconds predicted{0};
  Seconds measured{0};  ///< Median over untraced steps.
  KeyResidual largest_miss;
  std::string refusal;  ///< Why CUPTI's times were not used although it traced; else empty.
  /// Relative error: predicted over measured, less one.
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

struct TuneOptions {
  Seconds budget{std::chrono::minutes(10)};  ///< No iteration begins after this time.
  /// Steps of an iteration, of which the first and the last are not measured.
  std::int64_t steps = 10;
  double tolerance = 0.05;
  /// A plan to measure as it is, without a search.
  std::optional<planner::GivenPlan> given = std::nullopt;
  std::function<void(const TuneIteration&)> iteration_done;
  /// Times the tasks of a GPU, where there is one; CUDA events do so without it.
  cupti::Collector* collector = nullptr;
};

struct TuneOutcome {
  bool holds = false;
  std::vector<TuneIteration> iterations;
  planner::Calibration calibration;  ///< Calibration of the machine as given (overrides included).
  planner::PredictedStep step;       ///< The plan to train with, predicted with `calibration`.
  std::vector<MeasuredRun> runs;     ///< The latest burst of every plan.
};

/// Tunes a run. Throws what the engine throws; Infeasible where no plan fits.
[[nodiscard]] std::variant<TuneOutcome, planner::Infeasible> autotune(const planner::Request& run,
                                                                      const TuneOptions& options);

/// Saves the calibration of this machine and the plan in the store that train, predict and plan
/// read. Returns the plan file's path; none where the run names the plan or its policy, since the
/// plan is then no answer to a run that names none.
std::optional<std::filesystem::path> keep(const TuneOutcome& outcome, const planner::Request& run);

}  // namespace sluice::profiler
