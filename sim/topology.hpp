// Order among the tasks of a graph (Boost.Graph).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/task_graph.hpp"

namespace sluice::sim {

enum class Edges : std::uint8_t {
  dependencies,           ///< `after` alone.
  dependencies_and_lanes  ///< Also from each task to the next on its lane.
};

/// Tasks such that each comes after all that it waits for. Throws BadRequest naming the tasks of a
/// cycle.
[[nodiscard]] std::vector<TaskId> topological_order(const TaskGraph& graph, Edges edges);

}  // namespace sluice::sim
