// Duration of a task with the machine to itself, and what limits it.
#pragma once

#include <optional>

#include "sim/task_graph.hpp"

namespace sluice::sim {

struct AloneTime {
  Seconds time{0};
  /// The link that limits the task's rate; none if the task's own cap or fixed time limits it.
  std::optional<LinkId> link;
};

/// Time of the task with the machine to itself: latency plus amount over its rate, which is the
/// lesser of its cap and capacity / use of each of its links. `best_factor` (at least 1) is the
/// most by which interference can speed up the task's lane.
[[nodiscard]] AloneTime alone_time(const TaskGraph& graph, const Task& task,
                                   double best_factor = 1);

/// Shortest possible duration of the task: its time when it begins after an endless rest of its
/// lane, which is less than alone_time() if the task boosts. Bounds that sum over a lane need not
/// use it, because resting never pays (sim/boost.hpp); bounds of chains must.
[[nodiscard]] Seconds rested_time(const TaskGraph& graph, const Task& task, double best_factor = 1);

}  // namespace sluice::sim
