// How long a task takes with the machine to itself, and what holds it to that.
#pragma once

#include <optional>

#include "sim/task_graph.hpp"

namespace sluice::sim {

struct AloneTime {
  Seconds time{0};
  std::optional<LinkId> link;  ///< The full one; none where its own cap or fixed time sets it.
};

/// Latency plus amount at the rate the task has alone: min(cap, capacity / use over its links).
/// `best_factor` is the most that interference can speed its lane up (1: not at all).
[[nodiscard]] AloneTime alone_time(const TaskGraph& graph, const Task& task,
                                   double best_factor = 1);

/// The same where nothing but rest came before: shorter than alone_time() where the task boosts.
/// Sums over a lane need not use it, for resting never pays (sim/boost.hpp); chains do.
[[nodiscard]] Seconds rested_time(const TaskGraph& graph, const Task& task, double best_factor = 1);

}  // namespace sluice::sim
