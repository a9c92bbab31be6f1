// Progress display within a step that takes long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "planner/predictions/predict.hpp"
#include "profiler/traces/lane_meter.hpp"
#include "sim/units.hpp"

namespace sluice::cli {

/// Reporter on stderr of how far a step is, once it has run for some seconds: how much of its work
/// the lane predicted to be busiest has done, and how much of the predicted time has passed. On a
/// terminal the line is updated in place; elsewhere lines are printed from time to time. A thread
/// of its own reads the meter.
class StepWatch {
 public:
  using Clock = std::chrono::steady_clock;
  /// Predicted busy time of one lane in a step.
  struct LaneWork {
    planner::LaneKind lane = planner::LaneKind::compute;
    Duration work{0};
  };
  struct Times {
    /// Time from a step's beginning to the first report about it.
    Clock::duration silent = std::chrono::seconds(5);
    Clock::duration look_every = std::chrono::seconds(1);
    Clock::duration line_every = std::chrono::minutes(1);
  };

  /// Watches steps through `meter`, which must outlive this object and must be used for one step
  /// after another.
  StepWatch(const profiler::LaneMeter& meter, const planner::Prediction& prediction)
      : StepWatch(meter, prediction, Times()) {}
  StepWatch(const profiler::LaneMeter& meter, const planner::Prediction& prediction, Times times);
  ~StepWatch();
  StepWatch(const StepWatch&) = delete;  // Its thread points back at it.
  StepWatch& operator=(const StepWatch&) = delete;

  void begins(std::int64_t step);
  /// Ends the reports; call it when no step runs any more.
  void ends();

 private:
  void watch();
  void say(Clock::time_point now);

  const profiler::LaneMeter& meter_;
  const LaneWork busiest_;
  const Seconds predicted_;
  const Times times_;
  const bool terminal_;

  std::mutex mutex_;  ///< Guards the members declared after it, and the terminal's line.
  std::condition_variable changed_;
  std::int64_t step_ = 0;  ///< Number of the running step; 0 if none runs.
  Clock::time_point began_, said_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace sluice::cli
