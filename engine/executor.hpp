// Runs a program step after step: one persistent thread a lane, each walking the template in lane
// order and waiting only for the tasks it depends on, so that steps overlap exactly as the graph
// says.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/observer.hpp"
#include "engine/program.hpp"

namespace sluice::engine {

/// What a task does; called by the lane's thread once everything the task waits for has ended.
class TaskRunner {
 public:
  virtual ~TaskRunner() = default;
  virtual void enter_lane(planner::LaneKind lane) = 0;
  virtual void run(std::uint32_t task, std::int64_t step) = 0;
};

/// Lanes as threads. Blocked lanes sleep on a futex and never spin. `program`, `runner` and
/// `observer` must outlive the executor; it neither allocates nor takes a lock while tasks run,
/// except one lock a lane and step.
class Executor {
 public:
  /// `observer` may be null.
  Executor(const Program& program, TaskRunner& runner, Observer* observer);
  ~Executor();
  Executor(const Executor&) = delete;  // Lane threads point back at it.
  Executor& operator=(const Executor&) = delete;

  /// Runs steps first..last (consecutive calls continue where the previous ended, the first call
  /// starts at step 1) and returns the last step that ran, which is smaller after `request_stop`.
  /// `step_done`, if set, is called on the calling thread after each step's `grads`, while later
  /// tasks go on. An exception of a task or of `step_done` stops all lanes and is rethrown; the
  /// executor then refuses to run again.
  std::int64_t run(std::int64_t first, std::int64_t last,
                   const std::function<void(std::int64_t step)>& step_done = nullptr);

  /// Lets every lane finish the steps that any lane has begun, and no more. Call it from
  /// `step_done`.
  void request_stop();

  /// Replaces the observer. Only between runs.
  void observe(Observer* observer) { observer_ = observer; }

  /// Time since the executor was made: the run's clock.
  [[nodiscard]] Instant now() const;

 private:
  void lane_main(planner::LaneKind lane);
  void walk(planner::LaneKind lane, std::int64_t first, std::int64_t last);
  bool begin_step(std::int64_t step);
  bool wait_for(std::uint32_t task, std::int64_t step) const;
  void publish(std::uint32_t task, std::int64_t step);
  void fail(std::exception_ptr error);
  void wake_lanes();

  const Program& program_;
  TaskRunner& runner_;
  Observer* observer_;
  std::chrono::steady_clock::time_point epoch_;

  /// Last completed step of each task; 32 bits, so that waiting is a futex on the value itself.
  std::unique_ptr<std::atomic<std::int32_t>[]> done_;
  std::atomic<bool> failed_{false};

  std::mutex mutex_;  ///< Guards limit_, begun_ and error_.
  std::int64_t limit_ = 0;
  std::int64_t begun_ = 0;
  std::exception_ptr error_;

  std::int64_t first_ = 1, last_ = 0;        ///< Written before generation_ moves.
  std::atomic<std::int32_t> generation_{0};  ///< Moves once a run; negative ends the threads.
  std::atomic<std::int32_t> idle_lanes_{0};
  std::array<std::thread, planner::kLaneKinds> threads_;
};

}  // namespace sluice::engine
