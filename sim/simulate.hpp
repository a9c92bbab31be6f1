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

/// What one simulation yields, indexed by task, lane, link and pool of the graph.
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

  /// end(last) - end(first) of the graph's period; negative where the first ends last.
  [[nodiscard]] Duration period(const Period& period) const {
    return spans[index(period.last)].end - spans[index(period.first)].end;
  }
};

/// Times no schedule can beat: the uncontended dependency chain, the busiest lane, the busiest
/// link.
struct Bounds {
  Seconds chain{0};
  Seconds lane{0};
  Seconds link{0};
  std::optional<LaneId> busiest_lane;
  std::optional<LinkId> busiest_link;
  [[nodiscard]] Seconds bound() const { return std::max({chain, lane, link}); }
};

/// Checks the graph (Boost.Graph) and throws BadRequest naming the task, link or pool: cycle, flow
/// with neither cap nor uses, non-positive capacity, negative or non-finite number, duplicate id,
/// over-release.
void validate(const TaskGraph& graph);

/// Runs the whole graph. Throws BadRequest on a deadlock, naming a task and the pool it waits for.
/// The overload on TaskGraph validates and freezes first.
[[nodiscard]] Timeline simulate(const TaskGraph& graph);
[[nodiscard]] Timeline simulate(const FrozenGraph& graph);

/// The timeline's period of a graph that names one. Throws BadRequest where it names first the task
/// that ends last.
[[nodiscard]] std::optional<Duration> period_of(const TaskGraph& graph, const Timeline& timeline);

[[nodiscard]] Bounds bounds(const TaskGraph& graph);

/// Ids walking back from the last end through whatever (predecessor, lane or pool) enabled each
/// start.
[[nodiscard]] std::vector<TaskId> critical_path(const TaskGraph& graph, const Timeline& timeline);

}  // namespace sluice::sim
