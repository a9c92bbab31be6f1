// Reader and writer of graph files: CONTRACTS (docs/contracts.md), "Graph file (sim)";
// docs/schemas/graph.schema.json.
#pragma once

#include <string>
#include <string_view>

#include "sim/task_graph.hpp"

namespace sluice::sim {

/// Reads a graph file's text and validates the graph. Throws BadRequest that begins with `where`
/// (the file's name) and names the task, link or pool.
[[nodiscard]] TaskGraph read_graph(std::string_view json, std::string_view where);

/// Text of a graph file that reads back to the same simulation, bit for bit.
[[nodiscard]] std::string write_graph(const TaskGraph& graph);

/// Applies a user's changes of capacities to `graph`: `links.dram=80e9` sets the capacity of one
/// link, `links.dram=0.5x` scales it; `pools.NAME` works in the same way. Several may be joined by
/// commas. Throws BadRequest naming the one that is wrong.
void apply_override(TaskGraph& graph, std::string_view assignment);

}  // namespace sluice::sim
