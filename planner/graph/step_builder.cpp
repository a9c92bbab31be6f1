#include "planner/graph/step_builder.hpp"

#include "planner/graph/step_emitter.hpp"
#include "planner/models/slices.hpp"

namespace sluice::planner {
namespace {

StepGraph written(const Job& job, const Plan& plan, const CostModel& costs, GraphDetail detail) {
  validate(job);
  validate(plan, job);
  const Job part = part_of_rank(job, plan.ranks);
  GraphWriter writer(part, costs, plan.threads, detail, plan.ranks, plan.hosts);
  StepEmitter emitter(writer, part, plan);
  return three_steps(writer, emitter);
}

}  // namespace

StepGraph write_step_graph(const Job& job, const Plan& plan, const CostModel& costs) {
  return written(job, plan, costs, GraphDetail::full);
}

StepGraph write_timing_graph(const Job& job, const Plan& plan, const CostModel& costs) {
  return written(job, plan, costs, GraphDetail::timing);
}

}  // namespace sluice::planner
