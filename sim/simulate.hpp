// Discrete-event simulation of a task graph under weighted max-min fairness.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/task_graph.hpp"

namespace sluice::sim {

/// A compact, validated, immutable copy of a graph that the event loop runs on. Safe to share
/// between threads: a simulation keeps its state elsewhere.
class FrozenGraph;

/// Result of a simulation, indexed by task, lane, link and pool of the graph.
struct Timeline {
  struct Span {
    Instant start;
    Instant end;
  };
  std::vector<Span> spans;
  std::vector<std::optional<TaskId>>
      enabled_by;  ///< Whatever allowed the start last; none at time zero.
  std::vector<Duration> lane_busy;
  std::vector<Amount> link_moved;
  std::vector<Amount> pool_peak;
  Duration makespan{0};

  /// Period of the graph, end(last) - end(first); negative if the first task ends last.
  [[nodiscard]] Duration period(const Period& period) const {
    return spans[index(period.last)].end - spans[index(period.first)].end;
  }
};

/// Times that no schedule can beat: the uncontended dependency chain, the busiest lane, the busiest
/// link.
struct Bounds {
  Seconds chain{0};
  Seconds lane{0};
  Seconds link{0};
  std::optional<LaneId> busiest_lane;
  std::optional<LinkId> busiest_link;
  [[nodiscard]] Seconds bound() const { return std::max({chain, lane, link}); }
};

/// Checks the graph. Throws BadRequest naming the task, link or pool for a cycle, a flow with
/// neither cap nor uses, a capacity that is not positive, a negative or non-finite number, a
/// duplicate id, or an over-release.
void validate(const TaskGraph& graph);

/// Runs the whole graph. Throws BadRequest on a deadlock, naming a task and the pool it waits for.
/// The overload on TaskGraph validates and freezes first.
[[nodiscard]] Timeline simulate(const TaskGraph& graph);
[[nodiscard]] Timeline simulate(const FrozenGraph& graph);

/// Period of a timeline whose graph names one. Throws BadRequest if the graph names as first the
/// task that ends last.
[[nodiscard]] std::optional<Duration> period_of(const TaskGraph& graph, const Timeline& timeline);

[[nodiscard]] Bounds bounds(const TaskGraph& graph);

/// Ids of the critical path, walking back from the last end through whatever (predecessor, lane or
/// pool) enabled each start.
[[nodiscard]] std::vector<TaskId> critical_path(const TaskGraph& graph, const Timeline& timeline);

}  // namespace sluice::sim
