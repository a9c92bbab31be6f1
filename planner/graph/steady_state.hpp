// Simulation of a step graph as its steps run in the middle of a long run.
#pragma once

#include <optional>

#include "planner/graph/step_cycle.hpp"
#include "planner/graph/step_graph.hpp"
#include "sim/simulate.hpp"

namespace sluice::planner {

/// Timeline of `graph` in the middle of a long run; changes `graph` so that simulating it again
/// gives the same timeline. The first step of a graph finds every lane idle; but where a lane has
/// more to do in a step than the resulting period, it falls further behind with every step of a run
/// until the steps wait for it. The first task of such a lane gets a latency: the time by which the
/// lane lags in a long run.
[[nodiscard]] sim::Timeline simulate_steady(StepGraph& graph);

/// The steps of a long run: all alike, or a cycle of unequal ones.
struct SteadySteps {
  /// Timeline of the graph of three steps; of no use where there is a cycle.
  sim::Timeline timeline;
  std::optional<StepCycle> cycle;  ///< None where all steps are alike.
  Duration step{0};                ///< Length of a step; the mean of a cycle.
};

/// When steady_steps() simulates more than three steps, to see whether steps of unequal length
/// repeat (step_cycle).
enum class LookForCycles {
  /// Only where a lane falls further behind with every step whatever latency simulate_steady()
  /// gives it, which most cycles show; quick, for searches.
  where_unsettled,
  always,
};

/// The steps of a long run of `graph`: those of simulate_steady(), or the cycle that a look at more
/// steps (`look`) finds. Where it finds one, `graph` is left as it was.
[[nodiscard]] SteadySteps steady_steps(StepGraph& graph, LookForCycles look);

}  // namespace sluice::planner
