// Step graphs with an address for every tensor.
#pragma once

#include "planner/graph/forward_graph.hpp"
#include "planner/graph/step_builder.hpp"

namespace sluice::planner {

/// The step graph of `job` under `plan` with every arena laid out, as the engine executes it.
[[nodiscard]] StepGraph build_step_graph(const Job& job, const Plan& plan, const CostModel& costs);
/// The step graph of `job` under `plan` with every arena laid out, but without task ids and cost
/// keys: enough to simulate and to say what memory the plan takes.
[[nodiscard]] StepGraph build_timing_graph(const Job& job, const Plan& plan,
                                           const CostModel& costs);
/// The graph of forward passes alone (write_forward_graph), with an address for every tensor.
[[nodiscard]] StepGraph build_forward_graph(const Job& job, ForwardGoal goal,
                                            const ForwardPlan& plan, const CostModel& costs);

}  // namespace sluice::planner
