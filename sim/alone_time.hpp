// Duration of a task with the machine to itself, and what limits it.
#pragma once

#include <optional>

#include "sim/task_graph.hpp"

namespace sluice::sim {

struct AloneTime {
  Seconds time{0};
  /// The link that limits the task; none if its own cap or fixed time does.
  std::optional<LinkId> link;
};

/// Latency plus amount at the task's rate when alone: min(cap, capacity / use over its links).
/// `best_factor` is the most by which interference can speed its lane up (1: not at all).
[[nodiscard]] AloneTime alone_time(const TaskGraph& graph, const Task& task,
                                   double best_factor = 1);

/// Shortest possible duration of the task, which is that after a long rest: shorter than
/// alone_time() if the task boosts. Bounds that sum over a lane need not use it, because resting
/// never pays (sim/boost.hpp); bounds of chains must.
[[nodiscard]] Seconds rested_time(const TaskGraph& graph, const Task& task, double best_factor = 1);

}  // namespace sluice::sim
