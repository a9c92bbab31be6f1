// The plan of forward passes that fits a machine and is fastest, and what it does there.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "planner/costs/cost_model.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/layout/memory.hpp"
#include "planner/plans/forward_plan.hpp"
#include "planner/runs/run_config.hpp"
#include "planner/search/search.hpp"

namespace sluice::planner {

/// A plan, the graph of its passes, and what a pass is predicted to take.
struct ForwardPrediction {
  ForwardPlan plan;
  StepGraph graph;
  Duration pass{0};  ///< The steady period, exact.
  Seconds pass_low{0}, pass_high{0};
  Memory memory;
  Bytes streamed{0};  ///< Weights that cross the link in a pass, on average.
};

/// A job's forward passes on a machine; references must outlive the call.
struct ForwardRequest {
  const Job& job;
  ForwardGoal goal;
  const ResolvedMachine& machine;
  const ProfileCostModel& costs;
};

/// Predicts `plan`, whether it fits or not.
[[nodiscard]] ForwardPrediction predict_forward(const ForwardRequest& request, ForwardPlan plan);

/// As many units as fit stay in HBM, head and embedding first, then blocks spread evenly, and the
/// rest stream through one to four buffers: the fastest of these plans, or what the plan of least
/// memory lacks (remedies left empty).
[[nodiscard]] std::variant<ForwardPrediction, Infeasible> search_forward(
    const ForwardRequest& request);

/// A change of the request and the job it makes.
struct ForwardChange {
  Remedy remedy;  ///< The change; its `step` is filled in.
  Job job;
};
/// At most three remedies: the first of `changes` that fit, and the memory that `lacking` needs.
[[nodiscard]] std::vector<Remedy> forward_remedies(const ForwardRequest& request,
                                                   const Memory& lacking,
                                                   const std::vector<ForwardChange>& changes);

}  // namespace sluice::planner
