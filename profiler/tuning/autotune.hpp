// Plan, run, compare, recalibrate, replan, until the prediction of an unchanged plan holds.
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

/// One turn of the loop: what was planned, what was promised, what happened.
struct TuneRound {
  int number = 1;
  planner::Plan plan;
  std::string plan_hash;
  Seconds predicted{0};  ///< Before the plan ran, with the calibration of the round before.
  Seconds measured{0};   ///< Median over untraced steps.
  KeyResidual largest_miss;
  std::string refusal;  ///< Why CUPTI's times were not used though it traced; else empty.
  /// Predicted over measured, less one.
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

struct TuneOptions {
  Seconds budget{std::chrono::minutes(10)};  ///< No round begins after it.
  std::int64_t steps = 10;                   ///< A round, two of them without neighbours.
  double tolerance = 0.05;
  /// Measured as it is, where one is given: nothing is searched for.
  std::optional<planner::GivenPlan> given = std::nullopt;
  std::function<void(const TuneRound&)> round_done;
  /// Times the tasks of a GPU, where there is one; CUDA events do otherwise.
  cupti::Collector* collector = nullptr;
};

struct TuneOutcome {
  bool holds = false;
  std::vector<TuneRound> rounds;
  planner::Calibration calibration;  ///< For the machine as given (overrides included).
  planner::PredictedStep step;       ///< The plan to train with, predicted with `calibration`.
  std::vector<MeasuredRun> runs;     ///< Every plan's latest burst.
};

/// Throws what the engine throws. Plans that do not fit come back as Infeasible.
[[nodiscard]] std::variant<TuneOutcome, planner::Infeasible> autotune(const planner::Request& run,
                                                                      const TuneOptions& options);

/// Keeps what was learnt: calibration of this machine and the plan, in the store that train,
/// predict and plan read. Returns the plan file's path; none where the run names the plan or its
/// policy, for then that one is no answer to a run that names none.
std::optional<std::filesystem::path> keep(const TuneOutcome& outcome, const planner::Request& run);

}  // namespace sluice::profiler
