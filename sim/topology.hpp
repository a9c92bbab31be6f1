// Topological order of a graph's tasks (Boost.Graph).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/task_graph.hpp"

namespace sluice::sim {

enum class Edges : std::uint8_t {
  dependencies,           ///< Each task's predecessors (`after`) only.
  dependencies_and_lanes  ///< Each task's predecessors, and the task before it on its lane.
};

/// All tasks of `graph` in an order in which each comes after everything that it waits for by
/// `edges`. Throws BadRequest naming the tasks of a cycle.
[[nodiscard]] std::vector<TaskId> topological_order(const TaskGraph& graph, Edges edges);

}  // namespace sluice::sim
