// The three steps of a step graph, as they go in a long run.
#pragma once

#include "planner/graph/step_graph.hpp"
#include "sim/simulate.hpp"

namespace sluice::planner {

/// Simulates `graph` and leaves in it what a long run adds; simulating the graph as it is left
/// gives the timeline that is returned. The first step finds every lane idle; where a lane has more
/// to do in a step than the period that comes out, it falls further behind with every step of a run
/// until the steps wait for it, and three steps are too few to show it. Such a lane's first task is
/// given a latency, the time by which it lags in a long run.
[[nodiscard]] sim::Timeline simulate_steady(StepGraph& graph);

}  // namespace sluice::planner
