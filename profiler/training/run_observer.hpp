// Observer of a run of training, through which the caller that requested the run follows its
// progress.
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

/// Function that is told how much of the whole amount of some work is done, from any thread; it is
/// destroyed when the work ends.
using AmountShown = std::function<void(std::int64_t done, std::int64_t all)>;

/// Steps of a run by number: `done` of them precede this start, and the run ends after step `all`.
struct StepsAhead {
  std::int64_t done = 0;
  std::int64_t all = 0;
};

/// Follower of the steps of one run. Every call comes from the thread that trains; an exception
/// that it throws ends the run.
class StepFollower {
 public:
  StepFollower() = default;
  virtual ~StepFollower() = default;
  StepFollower(const StepFollower&) = delete;  // A run has one.
  StepFollower& operator=(const StepFollower&) = delete;

  virtual void begins(std::int64_t /*step*/) {}
  /// Called when no step runs any more, because the last one ended or the run does something else.
  virtual void ends() {}
  virtual void step(const engine::StepMetrics& /*metrics*/) {}
  virtual void validation(std::int64_t /*step*/, double /*loss*/) {}
  /// Called before a warning is printed and when the run is over, so that a line that is
  /// overwritten in place ends.
  virtual void gives_way() {}
};

/// Observer of a run, for the caller that requested it. The functions of this class show nothing.
class RunObserver {
 public:
  RunObserver() = default;
  virtual ~RunObserver() = default;
  RunObserver(const RunObserver&) = delete;  // Runs hold references to it.
  RunObserver& operator=(const RunObserver&) = delete;

  /// Called when work begins that may take long, named by `what` ("loading weights"). Returns the
  /// function to tell of its progress.
  virtual AmountShown amount(const std::string& /*what*/) {
    return [](std::int64_t, std::int64_t) {};
  }
  /// Called before the run writes `files` (a folder among them is to be removed only if empty), so
  /// that code which ends the process before begun() can remove them.
  virtual void will_write(const std::vector<std::filesystem::path>& /*files*/) {}
  /// Called before the first step; from then on the run answers a request to stop by a save.
  virtual void begun() {}
  /// Called before steps are prepared; returns a follower of them. `meter`, which counts the work
  /// of lanes in the current step, outlives the follower.
  virtual std::unique_ptr<StepFollower> follow(const LaneMeter& /*meter*/,
                                               const planner::Prediction& /*prediction*/,
                                               StepsAhead /*steps*/) {
    return std::make_unique<StepFollower>();
  }
};

}  // namespace sluice::profiler
