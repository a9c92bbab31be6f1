// The step graph written out, without addresses.
#pragma once

#include "planner/graph/step_graph.hpp"

namespace sluice::planner {

/// The graph with costs from `costs`, no arena laid out: enough to simulate.
[[nodiscard]] StepGraph write_step_graph(const Job& job, const Plan& plan, const CostModel& costs);
/// The same, but tasks have no ids and no cost keys: enough to simulate and to lay out.
[[nodiscard]] StepGraph write_timing_graph(const Job& job, const Plan& plan,
                                           const CostModel& costs);

}  // namespace sluice::planner
