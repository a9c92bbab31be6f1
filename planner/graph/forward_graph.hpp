// The graph of forward passes alone: the step graph's weights, tokens and forward tasks, with
// neither gradients nor optimizer state in any arena.
#pragma once

#include "planner/graph/step_graph.hpp"
#include "planner/plans/forward_plan.hpp"

namespace sluice::planner {

/// The graph of three consecutive forward passes (its "steps"), with costs from `costs` and no
/// arena laid out. For ForwardGoal::loss a pass reads `job.batch_size` sequences, layers outer and
/// micro-batches inner, so that a layer's weights cross the link once a pass. For
/// ForwardGoal::next_token the next pass's tokens wait for this pass's `grads` task, after which
/// its logits are known.
[[nodiscard]] StepGraph write_forward_graph(const Job& job, ForwardGoal goal,
                                            const ForwardPlan& plan, const CostModel& costs);

}  // namespace sluice::planner
