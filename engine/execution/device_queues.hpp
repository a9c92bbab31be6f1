// Queues for lanes that a device runs by itself: tasks are enqueued ahead of time together with the
// queued tasks that they wait for, and the device, not a thread, starts each task when those have
// ended.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <span>

#include "engine/optimizer/adamw.hpp"
#include "planner/graph/step_graph.hpp"

namespace sluice::engine {

/// Flag of one task of the program: number of the last step (from 1) in which it has ended; 0
/// before. CPU and device read and write the same word.
using EndFlag = std::atomic<std::int32_t>;
static_assert(sizeof(EndFlag) == sizeof(std::int32_t) && EndFlag::is_always_lock_free);

/// Value stored in every end flag once a run has failed: larger than any step, so that nothing
/// keeps waiting.
inline constexpr std::int32_t kRunFailed = std::numeric_limits<std::int32_t>::max();

/// A queued task that another one waits for: index of the task in the program, and the step in
/// which it must have ended.
struct QueueWait {
  std::uint32_t task;
  std::int64_t step;
};

/// Start and end of one execution of a queued task, measured by the device's clock and converted to
/// the CPU's.
struct QueueSpan {
  std::chrono::steady_clock::time_point start, end;
};

/// Largest number of steps whose tasks are in a device's queues at once: no lane is enqueued
/// farther ahead of the other lanes.
inline constexpr std::int64_t kStepsQueued = 4;

/// The queues by which a device runs some lanes of one program by itself: tasks are enqueued ahead
/// of time. Calls for one lane must come from one thread.
class DeviceQueues {
 public:
  virtual ~DeviceQueues() = default;
  DeviceQueues() = default;
  DeviceQueues(const DeviceQueues&) = delete;  // The device writes to its memory.
  DeviceQueues& operator=(const DeviceQueues&) = delete;

  /// Whether the device runs the tasks of `lane` from a queue; a thread of the CPU runs each other
  /// lane.
  [[nodiscard]] virtual bool takes(planner::LaneKind lane) const = 0;
  /// End flags of all tasks, by index of the task in the program; initially zero. The device writes
  /// the flags of tasks that it runs, the CPU those of all others.
  [[nodiscard]] virtual std::span<EndFlag> ended() = 0;
  /// Ring of the constants that the optimizer's updates need (AdamWStep): those of step s lie at
  /// index s modulo the ring's size, and are read when an update task of that step starts.
  [[nodiscard]] virtual std::span<AdamWStep> constants() = 0;

  /// Enqueues the execution of `task` in step `step`, which starts when those in `waits` have
  /// ended, and returns at once. All of `waits` must have been enqueued before.
  virtual void enqueue(std::uint32_t task, std::int64_t step, std::span<const QueueWait> waits) = 0;
  /// Returns once an enqueued task has ended in step `step`, or its flag says that the run has
  /// failed. Throws EnvironmentError if the device reports an error.
  virtual void wait(std::uint32_t task, std::int64_t step) = 0;
  /// Start and end of a queued task in step `step`, in which it has ended. Available until the task
  /// is enqueued for the step kStepsQueued later.
  [[nodiscard]] virtual QueueSpan span(std::uint32_t task, std::int64_t step) = 0;
};

}  // namespace sluice::engine
