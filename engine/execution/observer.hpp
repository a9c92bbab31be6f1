// What the engine tells of a run, and the only thing it knows of profilers.
#pragma once

#include <cstdint>

#include "sim/units.hpp"

namespace sluice::engine {

/// One executed task: `task` indexes the step template (0 .. tasks_per_step - 1), `step` counts
/// from 1.
struct TaskEvent {
  std::uint32_t task;
  std::int64_t step;
  Instant start;  ///< On the run's clock.
  Instant end;
};

/// Called by the lane that ran the task, after it ended. Implementations must not allocate and must
/// not block.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void task_ran(const TaskEvent& event) = 0;

  /// Around everything that the calling thread asks of the device for a task. Of no use to most.
  virtual void calls_begin(std::uint32_t /*task*/, std::int64_t /*step*/) {}
  virtual void calls_end() {}
};

/// While it lives, what its thread asks of the device is for one task. `observer` may be null.
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
