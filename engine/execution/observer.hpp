// What the engine reports about a run. Profilers implement this interface; the engine knows nothing
// else of them.
#pragma once

#include <cstdint>

#include "sim/units.hpp"

namespace sluice::engine {

/// One executed task: `task` is its index in the step template (0 .. tasks_per_step - 1), `step`
/// counts from 1.
struct TaskEvent {
  std::uint32_t task;
  std::int64_t step;
  Instant start;  ///< Start of the task on the run's clock.
  Instant end;
};

/// Receives executed tasks. Called by the lane that ran the task, after the task ended;
/// implementations must neither allocate nor block.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void task_ran(const TaskEvent& event) = 0;

  /// Called by a thread before (calls_begin) and after (calls_end) it makes the device calls of a
  /// task, such as kernel launches. Most observers ignore it.
  virtual void calls_begin(std::uint32_t /*task*/, std::int64_t /*step*/) {}
  virtual void calls_end() {}
};

/// Scope that attributes the calling thread's device calls to one task. `observer` may be null.
class TaskCalls {
 public:
  [[nodiscard]] TaskCalls(Observer* observer, std::uint32_t task, std::int64_t step)
      : observer_(observer) {
    if (observer_ != nullptr) observer_->calls_begin(task, step);
  }
  ~TaskCalls() {
    if (observer_ != nullptr) observer_->calls_end();
  }
  TaskCalls(const TaskCalls&) = delete;  // Each beginning has one end.
  TaskCalls& operator=(const TaskCalls&) = delete;

 private:
  Observer* observer_;
};

}  // namespace sluice::engine
