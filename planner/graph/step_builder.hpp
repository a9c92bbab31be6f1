// Builder of a job's step graph under a plan, without addresses.
#pragma once

#include "planner/graph/step_graph.hpp"

namespace sluice::planner {

/// Step graph of `job` under `plan`, with costs from `costs` and no arena laid out: enough to
/// simulate.
[[nodiscard]] StepGraph write_step_graph(const Job& job, const Plan& plan, const CostModel& costs);
/// Step graph of `job` under `plan` without task ids, cost keys and addresses: enough to simulate
/// and to lay out.
[[nodiscard]] StepGraph write_timing_graph(const Job& job, const Plan& plan,
                                           const CostModel& costs);

}  // namespace sluice::planner
