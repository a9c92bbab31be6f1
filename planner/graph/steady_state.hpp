// Simulation of a step graph as its steps run in the middle of a long run.
#pragma once

#include "planner/graph/step_graph.hpp"
#include "sim/simulate.hpp"

namespace sluice::planner {

/// Timeline of `graph` in the middle of a long run; changes `graph` so that simulating it again
/// gives the same timeline. The first step of a graph finds every lane idle; but where a lane has
/// more to do in a step than the resulting period, it falls further behind with every step of a run
/// until the steps wait for it. The first task of such a lane gets a latency: the time by which the
/// lane lags in a long run.
[[nodiscard]] sim::Timeline simulate_steady(StepGraph& graph);

}  // namespace sluice::planner
