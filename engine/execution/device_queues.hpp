// Lanes that a device runs by itself: tasks are handed over ahead of time with the queued tasks
// they wait for, and the device, not a thread, starts each one when its turn has come.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <span>

#include "engine/optimizer/adamw.hpp"
#include "planner/graph/step_graph.hpp"

namespace sluice::engine {

/// Last step whose task has ended. CPU and device read and write the same word.
using EndFlag = std::atomic<std::int32_t>;
static_assert(sizeof(EndFlag) == sizeof(std::int32_t) && EndFlag::is_always_lock_free);

/// Stored for every task once a run has failed: larger than any step, so that no one waits on.
inline constexpr std::int32_t kRunFailed = std::numeric_limits<std::int32_t>::max();

/// A queued task that another one waits for.
struct QueueWait {
  std::uint32_t task;
  std::int64_t step;
};

/// When a queued task ran, by the device's clock, on the CPU's.
struct QueueSpan {
  std::chrono::steady_clock::time_point start, end;
};

/// Steps whose queued tasks may be waited for at once; the executor keeps lanes that close.
inline constexpr std::int64_t kStepsQueued = 4;

/// The queues of one program on one device. A lane's calls come from one thread.
class DeviceQueues {
 public:
  virtual ~DeviceQueues() = default;
  DeviceQueues() = default;
  DeviceQueues(const DeviceQueues&) = delete;  // The device writes to its memory.
  DeviceQueues& operator=(const DeviceQueues&) = delete;

  /// Whether the device runs this lane; the others are the CPU's.
  [[nodiscard]] virtual bool takes(planner::LaneKind lane) const = 0;
  /// One flag a task of the program, zero at first. The device writes those of its own tasks.
  [[nodiscard]] virtual std::span<EndFlag> ended() = 0;
  /// The optimizer's constants of step s lie at s modulo the size; read when the update starts.
  [[nodiscard]] virtual std::span<AdamWStep> constants() = 0;

  /// Hands a task over and returns at once. All it waits for have been handed over before.
  virtual void enqueue(std::uint32_t task, std::int64_t step, std::span<const QueueWait> waits) = 0;
  /// Returns once a task handed over has ended, or its flag says that the run has failed. Throws
  /// EnvironmentError where the device reports an error.
  virtual void wait(std::uint32_t task, std::int64_t step) = 0;
  /// Of a task that has ended, until its lane is kStepsQueued steps further.
  [[nodiscard]] virtual QueueSpan span(std::uint32_t task, std::int64_t step) = 0;
};

}  // namespace sluice::engine
