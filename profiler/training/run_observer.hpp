// Observer of a run of training: its progress, for the caller that requested it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/run_folders/metrics.hpp"
#include "planner/predictions/predict.hpp"
#include "profiler/traces/lane_meter.hpp"

namespace sluice::profiler {

/// Function that is told how much of an amount of work is done, from any thread; destroyed when the
/// work ends.
using AmountShown = std::function<void(std::int64_t done, std::int64_t all)>;

/// Steps of a run: `done` of them precede its start, and it ends after step `all`.
struct StepsAhead {
  std::int64_t done = 0;
  std::int64_t all = 0;
};

/// Follower of the steps of one run. Every call comes from the thread that trains; an exception
/// ends the run.
class StepFollower {
 public:
  StepFollower() = default;
  virtual ~StepFollower() = default;
  StepFollower(const StepFollower&) = delete;  // A run has one.
  StepFollower& operator=(const StepFollower&) = delete;

  virtual void begins(std::int64_t /*step*/) {}
  /// Called when no step runs any more: the last one ended, or the run does something else.
  virtual void ends() {}
  virtual void step(const engine::StepMetrics& /*metrics*/) {}
  virtual void validation(std::int64_t /*step*/, double /*loss*/) {}
  /// Called before a warning is printed, and when the run is over.
  virtual void gives_way() {}
};

/// Observer of a run, for the caller that requested it. The defaults show nothing.
class RunObserver {
 public:
  RunObserver() = default;
  virtual ~RunObserver() = default;
  RunObserver(const RunObserver&) = delete;  // Runs hold references to it.
  RunObserver& operator=(const RunObserver&) = delete;

  /// Called when work begins that may take long ("loading weights").
  virtual AmountShown amount(const std::string& /*what*/) {
    return [](std::int64_t, std::int64_t) {};
  }
  /// Called before the run writes `files` (a folder among them is to be removed only if empty):
  /// code that ends the process before `begun` removes them.
  virtual void will_write(const std::vector<std::filesystem::path>& /*files*/) {}
  /// Called before the first step; from then on a request to stop is answered by a save.
  virtual void begun() {}
  /// Called before steps are prepared; returns their follower. `meter`, which counts the work of
  /// lanes in the current step, outlives the follower.
  virtual std::unique_ptr<StepFollower> follow(const LaneMeter& /*meter*/,
                                               const planner::Prediction& /*prediction*/,
                                               StepsAhead /*steps*/) {
    return std::make_unique<StepFollower>();
  }
};

}  // namespace sluice::profiler
