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

/// Number of the last step (from 1) in which one task has ended; 0 before. CPU and device read and
/// write the same word.
using EndFlag = std::atomic<std::int32_t>;
static_assert(sizeof(EndFlag) == sizeof(std::int32_t) && EndFlag::is_always_lock_free);

/// Value stored in every end flag once a run has failed: larger than any step, so that nothing
/// keeps waiting.
inline constexpr std::int32_t kRunFailed = std::numeric_limits<std::int32_t>::max();

/// A task, by its index in the program, and the step whose instance of it a queued task waits for.
struct QueueWait {
  std::uint32_t task;
  std::int64_t step;
};

/// Start and end of a queued task, measured by the device's clock and converted to the CPU's.
struct QueueSpan {
  std::chrono::steady_clock::time_point start, end;
};

/// Largest number of steps whose queued tasks are in flight at once; the executor keeps lanes
/// within that distance.
inline constexpr std::int64_t kStepsQueued = 4;

/// The queues of one program on one device. Calls for one lane must come from one thread.
class DeviceQueues {
 public:
  virtual ~DeviceQueues() = default;
  DeviceQueues() = default;
  DeviceQueues(const DeviceQueues&) = delete;  // The device writes to its memory.
  DeviceQueues& operator=(const DeviceQueues&) = delete;

  /// Whether the device runs `lane`; threads of the CPU run the others.
  [[nodiscard]] virtual bool takes(planner::LaneKind lane) const = 0;
  /// End flags by index of the task in the program, initially zero. The device writes the flags of
  /// its own tasks.
  [[nodiscard]] virtual std::span<EndFlag> ended() = 0;
  /// Ring of optimizer constants: those of step s lie at index s modulo the ring's size, and are
  /// read when an update task of that step starts.
  [[nodiscard]] virtual std::span<AdamWStep> constants() = 0;

  /// Enqueues a task and returns at once. All tasks in `waits` must have been enqueued before.
  virtual void enqueue(std::uint32_t task, std::int64_t step, std::span<const QueueWait> waits) = 0;
  /// Returns once an enqueued task has ended, or its flag says that the run has failed. Throws
  /// EnvironmentError if the device reports an error.
  virtual void wait(std::uint32_t task, std::int64_t step) = 0;
  /// Start and end of a queued task that has ended. Available until its lane is kStepsQueued steps
  /// further.
  [[nodiscard]] virtual QueueSpan span(std::uint32_t task, std::int64_t step) = 0;
};

}  // namespace sluice::engine
