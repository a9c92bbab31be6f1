// Discrete-event simulation of a task graph under weighted max-min fairness.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/task_graph.hpp"

namespace sluice::sim {

/// A compact, validated copy of a graph that the event loop runs on (sim/frozen_graph.hpp). Threads
/// may share it, because a simulation keeps its state elsewhere.
class FrozenGraph;

/// Result of a simulation, indexed by task, lane, link and pool of the graph.
struct Timeline {
  struct Span {
    Instant start;
    Instant end;
  };
  std::vector<Span> spans;
  /// For each task the one whose end let it start: the last predecessor, the task before it on its
  /// lane, or a task that released a pool. None for a task that waited for none of these.
  std::vector<std::optional<TaskId>> enabled_by;
  std::vector<Duration> lane_busy;
  std::vector<Amount> link_moved;
  std::vector<Amount> pool_peak;
  Duration makespan{0};

  /// Simulated length of `period`, (end(last) - end(first)) / steps; negative if `first` ends after
  /// `last`.
  [[nodiscard]] Duration period(const Period& period) const {
    return (spans[index(period.last)].end - spans[index(period.first)].end) / period.steps;
  }
};

/// Times that no schedule of a graph can beat: its longest chain of dependencies without
/// contention, the work of its busiest lane, and that of its busiest link.
struct Bounds {
  Seconds chain{0};
  Seconds lane{0};
  Seconds link{0};
  std::optional<LaneId> busiest_lane;
  std::optional<LinkId> busiest_link;
  [[nodiscard]] Seconds bound() const { return std::max({chain, lane, link}); }
};

/// Checks `graph`. Throws BadRequest naming the task, link or pool for a cycle, a flow with neither
/// cap nor uses, a capacity that is not positive, a negative or non-finite number, a duplicate id,
/// or a pool that is released by more than was acquired.
void validate(const TaskGraph& graph);

/// Simulates the whole graph from time zero. Throws BadRequest on a deadlock, naming a task and the
/// pool it waits for. The overload on TaskGraph validates and freezes the graph first.
[[nodiscard]] Timeline simulate(const TaskGraph& graph);
[[nodiscard]] Timeline simulate(const FrozenGraph& graph);

/// Length of the graph's period in `timeline`; none if the graph has no period. Throws BadRequest
/// if the period's first task ends after its last.
[[nodiscard]] std::optional<Duration> period_of(const TaskGraph& graph, const Timeline& timeline);

[[nodiscard]] Bounds bounds(const TaskGraph& graph);

/// Tasks of the critical path, from first to last: found by walking back from the task that ends
/// last through whatever let each task start (Timeline::enabled_by).
[[nodiscard]] std::vector<TaskId> critical_path(const TaskGraph& graph, const Timeline& timeline);

}  // namespace sluice::sim
