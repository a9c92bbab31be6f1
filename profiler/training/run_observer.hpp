// What a run of training tells whoever asked for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/records/metrics.hpp"
#include "planner/predictions/predict.hpp"
#include "profiler/traces/lane_meter.hpp"

namespace sluice::profiler {

/// Told how much of an amount of work is done, from any thread; destroyed when the work ends.
using AmountShown = std::function<void(std::int64_t done, std::int64_t all)>;

/// Steps of a run: `done` of them are behind when it starts, and it ends after step `all`.
struct StepsAhead {
  std::int64_t done = 0;
  std::int64_t all = 0;
};

/// Follows the steps of one run. Every call comes from the thread that trains; what it throws ends
/// the run.
class StepFollower {
 public:
  StepFollower() = default;
  virtual ~StepFollower() = default;
  StepFollower(const StepFollower&) = delete;  // A run has one.
  StepFollower& operator=(const StepFollower&) = delete;

  virtual void begins(std::int64_t /*step*/) {}
  /// No step runs: the last one ended, or something else takes its time.
  virtual void ends() {}
  virtual void step(const engine::StepMetrics& /*metrics*/) {}
  virtual void validation(std::int64_t /*step*/, double /*loss*/) {}
  /// A warning is about to be said, or the run is over.
  virtual void gives_way() {}
};

/// Whoever asked for a run. A class that overrides nothing is told nothing and shows nothing.
class RunObserver {
 public:
  RunObserver() = default;
  virtual ~RunObserver() = default;
  RunObserver(const RunObserver&) = delete;  // Runs hold references to it.
  RunObserver& operator=(const RunObserver&) = delete;

  /// Work that may take long begins ("loading weights").
  virtual AmountShown amount(const std::string& /*what*/) {
    return [](std::int64_t, std::int64_t) {};
  }
  /// The run is about to write `files` (folders among them, to go where they are empty): whoever
  /// ends the process before `begun` removes them.
  virtual void will_write(const std::vector<std::filesystem::path>& /*files*/) {}
  /// The first step is about to begin: from now on a request to stop is answered by a save.
  virtual void begun() {}
  /// Steps are about to be prepared. `meter`, which counts what lanes do in the step that runs,
  /// outlives the follower.
  virtual std::unique_ptr<StepFollower> follow(const LaneMeter& /*meter*/,
                                               const planner::Prediction& /*prediction*/,
                                               StepsAhead /*steps*/) {
    return std::make_unique<StepFollower>();
  }
};

}  // namespace sluice::profiler
