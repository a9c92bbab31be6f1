// Topological order of a graph's tasks (Boost.Graph).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/task_graph.hpp"

namespace sluice::sim {

enum class Edges : std::uint8_t {
  dependencies,           ///< Predecessors (`after`) only.
  dependencies_and_lanes  ///< Predecessors, and the previous task on the same lane.
};

/// All tasks of `graph` in an order in which each comes after everything that it waits for by
/// `edges`. Throws BadRequest naming the tasks of a cycle.
[[nodiscard]] std::vector<TaskId> topological_order(const TaskGraph& graph, Edges edges);

}  // namespace sluice::sim
