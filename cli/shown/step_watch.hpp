// What a step that takes long has done so far.
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

/// Says on stderr how far a step is, once it has run for some seconds: in place where stderr is a
/// terminal, elsewhere a line now and then: how much of its work the lane has done that is
/// predicted to be busiest, and how much of the predicted time has passed. A thread of its own
/// looks at the meter.
class StepWatch {
 public:
  using Clock = std::chrono::steady_clock;
  /// What a lane is predicted to do in a step.
  struct LaneWork {
    planner::LaneKind lane = planner::LaneKind::compute;
    Duration work{0};
  };
  struct Times {
    Clock::duration silent = std::chrono::seconds(5);  ///< Of a step, before anything is said.
    Clock::duration look_every = std::chrono::seconds(1);
    Clock::duration line_every = std::chrono::minutes(1);
  };

  /// `meter` must outlive it, and read one step after the other.
  StepWatch(const profiler::LaneMeter& meter, const planner::Prediction& prediction)
      : StepWatch(meter, prediction, Times()) {}
  StepWatch(const profiler::LaneMeter& meter, const planner::Prediction& prediction, Times times);
  ~StepWatch();
  StepWatch(const StepWatch&) = delete;  // Its thread points back at it.
  StepWatch& operator=(const StepWatch&) = delete;

  void begins(std::int64_t step);
  /// No step runs; nothing is said from here on.
  void ends();

 private:
  void watch();
  void say(Clock::time_point now);

  const profiler::LaneMeter& meter_;
  const LaneWork busiest_;
  const Seconds predicted_;
  const Times times_;
  const bool terminal_;

  std::mutex mutex_;  ///< Guards what follows, and the terminal's line.
  std::condition_variable changed_;
  std::int64_t step_ = 0;  ///< 0: none runs.
  Clock::time_point began_, said_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace sluice::cli
