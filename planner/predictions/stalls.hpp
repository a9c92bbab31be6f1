// Stalls: what the compute lane waited for in each idle interval of one period.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// What the next task of the compute lane waits for.
enum class Stall : std::uint8_t {
  weights,  ///< Weights that are still copied to the device, or wait behind other copies.
  /// A gradient that is still being stored from the buffer that the task needs, or a running sum
  /// that is still being loaded.
  gradient,
  activation,  ///< A kept record on its way to the host or back.
  /// A CPU update whose weights are needed or still have to be copied, a pass of the CPU between
  /// steps (HostPass), or state on its way to the device for an update and back.
  optimizer,
  launch,  ///< The launch lane, which has not yet enqueued the task.
  tokens,  ///< The step's tokens, which are not yet on the device.
};
inline constexpr std::size_t kStalls = 6;
const char* to_string(Stall stall);

/// Busy and idle times of the compute lane in one period; `compute` and all of `idle` sum to
/// `period` exactly.
struct StallTimes {
  Duration period{0};
  Duration compute{0};                   ///< Time for which the compute lane runs tasks.
  std::map<TaskKind, Duration> kinds;    ///< Parts of `compute` by kind of task; they sum to it.
  std::array<Duration, kStalls> idle{};  ///< Time for which the compute lane waits, by Stall.
  [[nodiscard]] Duration at(Stall stall) const { return idle[static_cast<std::size_t>(stall)]; }
  [[nodiscard]] Duration& at(Stall stall) { return idle[static_cast<std::size_t>(stall)]; }
};

/// Start and end of one task, predicted or measured.
struct TaskTimes {
  Instant start;
  Instant end;
};

/// Busy and idle times of the compute lane between the end of s2/grads and the end of s3/grads (the
/// ends of steps 2 and 3); means over the steps of a longer period. An idle interval before compute
/// task t is walked backwards: it is charged to what t waited for, its predecessor (or the task
/// before it on its lane) that ended last; where that one started within the interval, the time
/// before its start is charged to what it waited for in turn, and so on. `spans` has one element a
/// task of `graph`, predicted or measured; a measured predecessor that seems to end late by clock
/// noise is clipped to the interval.
[[nodiscard]] StallTimes stall_times(const StepGraph& graph, const std::vector<TaskTimes>& spans);

/// stall_times() for `spans` of any type with members `start` and `end`.
template <class Spans>
[[nodiscard]] StallTimes stall_times_of(const StepGraph& graph, const Spans& spans) {
  std::vector<TaskTimes> times;
  times.reserve(spans.size());
  for (const auto& span : spans) times.push_back({span.start, span.end});
  return stall_times(graph, times);
}

}  // namespace sluice::planner
