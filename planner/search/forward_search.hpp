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

/// A plan of forward passes, the graph of its passes, and what one pass is predicted to take.
struct ForwardPrediction {
  ForwardPlan plan;
  StepGraph graph;
  Duration pass{0};                   ///< Predicted time of one pass in a long run of passes.
  Seconds pass_low{0}, pass_high{0};  ///< 90 % interval of `pass`.
  Memory memory;
  Bytes streamed{0};  ///< Bytes of weights that one pass copies to the device, on average.
};

/// A job's forward passes on a machine: what is predicted or searched. What it refers to must
/// outlive it.
struct ForwardRequest {
  const Job& job;
  ForwardGoal goal;
  const ResolvedMachine& machine;
  const ProfileCostModel& costs;
};

/// Predicts passes by `plan`, whether it fits the machine or not.
[[nodiscard]] ForwardPrediction predict_forward(const ForwardRequest& request, ForwardPlan plan);

/// The fastest of the plans that stream weights through one to four device buffers and keep as many
/// units on the device as then fit: head and embedding first, then evenly spread blocks. Where none
/// of them fits, what one of them lacks (without remedies); if that is device memory, the one that
/// needs least.
[[nodiscard]] std::variant<ForwardPrediction, Infeasible> search_forward(
    const ForwardRequest& request);

/// A change of the request, and the job with it.
struct ForwardChange {
  /// What to change, in words and as a setting; forward_remedies() fills in its `step`.
  Remedy remedy;
  Job job;
};
/// At most three remedies: the first two of `changes` with which a plan fits, and a machine with
/// the memory that `lacking` takes, if a plan fits that.
[[nodiscard]] std::vector<Remedy> forward_remedies(const ForwardRequest& request,
                                                   const Memory& lacking,
                                                   const std::vector<ForwardChange>& changes);

}  // namespace sluice::planner
