// Autotune: plans, runs, compares, calibrates and plans again, until the prediction of an unchanged
// plan holds.
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
  /// Step time that was predicted before the plan ran, with the calibration of the iteration
  /// before.
  Seconds predicted{0};
  Seconds measured{0};  ///< Median of the measured step times without tracing.
  KeyResidual largest_miss;
  /// Why CUPTI's times were not used although it traced; empty where they were, or where it did not
  /// trace.
  std::string refusal;
  /// Predicted step over measured step, less one.
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

struct TuneOptions {
  Seconds budget{std::chrono::minutes(10)};  ///< Time after which no further iteration begins.
  /// Number of steps of an iteration, of which the first and the last are not measured.
  std::int64_t steps = 10;
  double tolerance = 0.05;
  /// A plan to measure as it is, in place of a search.
  std::optional<planner::GivenPlan> given = std::nullopt;
  std::function<void(const TuneIteration&)> iteration_done;
  /// Collector that times the tasks of a GPU; null for none, and CUDA events then time them.
  cupti::Collector* collector = nullptr;
};

struct TuneOutcome {
  bool holds = false;
  std::vector<TuneIteration> iterations;
  /// Calibration for the machine as the run states it, with the run's changes of the machine's
  /// numbers.
  planner::Calibration calibration;
  planner::PredictedStep step;    ///< Plan to train with, predicted with `calibration`.
  std::vector<MeasuredRun> runs;  ///< The latest measured burst of every plan that ran.
};

/// Tunes the plan of a run. Infeasible where no plan fits. Throws what the engine throws.
[[nodiscard]] std::variant<TuneOutcome, planner::Infeasible> autotune(const planner::Request& run,
                                                                      const TuneOptions& options);

/// Saves the tuned calibration and the tuned plan in the user's store, which train, predict and
/// plan read. Returns the plan file's path; none where the run names the plan or its policy, since
/// the plan is then no answer to a run that names none.
std::optional<std::filesystem::path> keep(const TuneOutcome& outcome, const planner::Request& run);

}  // namespace sluice::profiler
