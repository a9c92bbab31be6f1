// The longest chain of tasks in a period: a bound that sees what must follow what.
#pragma once

#include "sim/task_graph.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// From the end of the period's first task to the end of its last no execution takes less: the
/// longest way between them along dependencies and the order of each lane, every task as long as it
/// takes with the machine to itself. Zero where there is no such way. `graph` has a period and no
/// interference that speeds a lane up.
[[nodiscard]] Seconds chain_bound(const sim::TaskGraph& graph);

}  // namespace sluice::planner
