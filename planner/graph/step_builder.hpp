// Builds a job's step graph under a plan, without addresses.
#pragma once

#include "planner/graph/step_graph.hpp"

namespace sluice::planner {

/// The step graph with costs from `costs` and no arena laid out: enough to simulate.
[[nodiscard]] StepGraph write_step_graph(const Job& job, const Plan& plan, const CostModel& costs);
/// The step graph without task ids and cost keys: enough to simulate and to lay out.
[[nodiscard]] StepGraph write_timing_graph(const Job& job, const Plan& plan,
                                           const CostModel& costs);

}  // namespace sluice::planner
