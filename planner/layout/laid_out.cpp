#include "planner/layout/laid_out.hpp"

#include <utility>

#include "planner/graph/step_builder.hpp"
#include "planner/layout/layout.hpp"

namespace sluice::planner {
namespace {

StepGraph laid_out(StepGraph graph) {
  graph.layout = lay_out(graph);
  return graph;
}

}  // namespace

StepGraph build_step_graph(const Job& job, const Plan& plan, const CostModel& costs) {
  return laid_out(write_step_graph(job, plan, costs));
}

StepGraph build_timing_graph(const Job& job, const Plan& plan, const CostModel& costs) {
  return laid_out(write_timing_graph(job, plan, costs));
}

StepGraph build_forward_graph(const Job& job, ForwardGoal goal, const ForwardPlan& plan,
                              const CostModel& costs) {
  return laid_out(write_forward_graph(job, goal, plan, costs));
}

}  // namespace sluice::planner
