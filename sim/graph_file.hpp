// Reader and writer of graph files: CONTRACTS (docs/contracts.md), "Graph file (sim)";
// docs/schemas/graph.schema.json.
#pragma once

#include <string>
#include <string_view>

#include "sim/task_graph.hpp"

namespace sluice::sim {

/// Reads and validates a graph. Throws BadRequest `WHERE: ...` naming the task, link or pool.
[[nodiscard]] TaskGraph read_graph(std::string_view json, std::string_view where);

/// Writes a graph that reads back to the same simulation, bit for bit.
[[nodiscard]] std::string write_graph(const TaskGraph& graph);

/// Applies overrides to capacities: `links.dram=80e9` sets one, `links.dram=0.5x` scales it;
/// `pools.NAME` works in the same way. Several may be joined by commas. Throws BadRequest naming
/// the override.
void apply_override(TaskGraph& graph, std::string_view assignment);

}  // namespace sluice::sim
