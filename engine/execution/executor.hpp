// Runs a program step after step with one persistent thread per lane, each going through the step
// template in lane order, so that steps overlap exactly as the graph says. For a lane that the
// device runs by itself, the thread enqueues tasks ahead of time instead of running them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "engine/execution/device_queues.hpp"
#include "engine/execution/observer.hpp"
#include "engine/execution/program.hpp"
#include "engine/execution/task_ranges.hpp"

namespace sluice::engine {

/// Executes single tasks for an Executor. Called by the lane's thread once everything the task
/// waits for has ended; only for tasks of lanes that no device queue takes, and for the step's
/// `grads` task.
class TaskRunner {
 public:
  virtual ~TaskRunner() = default;
  virtual void enter_lane(planner::LaneKind lane) = 0;
  virtual void run(std::uint32_t task, std::int64_t step) = 0;
};

/// How far lanes may run ahead of a step's `grads` task: as far as the graph lets them, or into the
/// following step and no further. Ranks stay within a step of each other, so that all of them can
/// stop after the same one.
enum class RunAhead { freely, one_step };

/// Runs the steps of a program, each lane on a thread of its own. Threads that wait for the CPU
/// sleep on a futex; threads that wait for the device poll its flags between short sleeps.
/// `program`, `runner`, `queues` and `observer` must outlive the executor. While tasks run it does
/// not allocate, and takes one lock per lane and step.
class Executor {
 public:
  /// Starts the lanes' threads. `observer` may be null, and so may `queues`: threads then run all
  /// lanes.
  Executor(const Program& program, TaskRunner& runner, Observer* observer,
           DeviceQueues* queues = nullptr, RunAhead ahead = RunAhead::freely);
  ~Executor();
  Executor(const Executor&) = delete;  // Lane threads point back at it.
  Executor& operator=(const Executor&) = delete;

  /// Runs steps `first` to `last` and returns the last step that ran, which is smaller after
  /// `request_stop`. The first call starts at step 1, each further call where the one before ended.
  /// `step_done`, if set, is called on the calling thread once a step's gradient norm is known (its
  /// `grads` task has ended), while later tasks go on. An exception of a task or of `step_done`
  /// stops all lanes and is rethrown; the executor then refuses to run again.
  std::int64_t run(std::int64_t first, std::int64_t last,
                   const std::function<void(std::int64_t step)>& step_done = nullptr);

  /// Ends the current `run` early: every lane finishes the steps that any lane has begun, and no
  /// others begin. Call it from `step_done`.
  void request_stop();
  /// Lets no step after `step` begin. With RunAhead::one_step call it within the `grads` task of
  /// the step before `step`.
  void stop_after(std::int64_t step);

  /// Replaces the observer of tasks, null for none; call it only between runs.
  void observe(Observer* observer) { observer_ = observer; }

  /// Time now on the run's clock, which began when the executor was created.
  [[nodiscard]] Instant now() const { return instant(std::chrono::steady_clock::now()); }
  /// Converts `point` to the run's clock.
  [[nodiscard]] Instant instant(std::chrono::steady_clock::time_point point) const {
    return Instant(std::chrono::duration_cast<Duration>(point - epoch_));
  }

 private:
  class InFlight;
  struct Instance {
    std::uint32_t task;
    std::int64_t step;
  };

  void lane_main(planner::LaneKind lane);
  void walk(planner::LaneKind lane, std::int64_t first, std::int64_t last);
  void run_here(Instance instance);
  /// Enqueues the tasks of steps `first` to `last` of a lane that the device runs; returns false if
  /// the run has failed.
  bool feed(planner::LaneKind lane, std::int64_t first, std::int64_t last);
  bool hand_over(Instance instance, const Instance* synchronization);
  bool retire(InFlight& flight, std::size_t left);
  bool synchronize(std::int64_t step);

  /// Waits until `step` may begin and begins it; false if it may not any more, or the run has
  /// failed.
  bool begin_step(std::int64_t step);
  bool wait_for(std::uint32_t task, std::int64_t step) const;
  [[nodiscard]] bool takes(planner::LaneKind lane) const {
    return queues_ != nullptr && queues_->takes(lane);
  }
  [[nodiscard]] bool queued(std::uint32_t task) const {
    return task != program_.grads() && takes(program_.task(task).lane);
  }
  void publish(Instance instance);
  void tell(Instance instance, Instant start, Instant end);
  void fail(std::exception_ptr error);

  const Program& program_;
  TaskRunner& runner_;
  Observer* observer_;
  DeviceQueues* queues_;
  RunAhead ahead_;
  TaskRanges ranges_;
  std::chrono::steady_clock::time_point epoch_;

  /// Memory of the end flags if there are no device queues; null if there are, because they own it.
  std::unique_ptr<EndFlag[]> own_flags_;
  /// Last step in which each task ended, by index of the task; 32 bits, so that a futex can wait on
  /// the value itself.
  std::span<EndFlag> ended_;
  /// Last step in which each task of a device queue was enqueued, by index of the task.
  std::unique_ptr<EndFlag[]> handed_over_;
  /// Last step whose tasks were all enqueued, for each lane that the device runs.
  std::array<EndFlag, planner::kLaneKinds> fed_{};
  std::atomic<bool> failed_{false};

  std::mutex mutex_;  ///< Guards limit_, begun_ and error_.
  std::int64_t limit_ = 0;
  std::int64_t begun_ = 0;
  std::exception_ptr error_;

  /// First and last step of the current run; written before generation_ changes.
  std::int64_t first_ = 1, last_ = 0;
  /// Number of calls of `run` so far; lane threads wait for it to grow. Negative tells them to end.
  std::atomic<std::int32_t> generation_{0};
  std::atomic<std::int32_t> idle_lanes_{0};
  std::array<std::thread, planner::kLaneKinds> threads_;
};

}  // namespace sluice::engine
