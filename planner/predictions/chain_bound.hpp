// Bound of a step graph's period by its longest chain of tasks.
#pragma once

#include "sim/task_graph.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Least time of any execution from the end of the period's first task to the end of its last: the
/// longest path between them along dependencies and the order of each lane, every task taking as
/// long as alone on the machine after the longest rest. Divided by the number of steps where the
/// period has several; zero where there is no such path. `graph` must have a period and no
/// interference that speeds a lane up.
[[nodiscard]] Seconds chain_bound(const sim::TaskGraph& graph);

}  // namespace sluice::planner
