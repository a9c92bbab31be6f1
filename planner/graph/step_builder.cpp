#include "planner/graph/step_builder.hpp"

#include "planner/graph/step_emitter.hpp"

namespace sluice::planner {
namespace {

StepGraph written(const Job& job, const Plan& plan, const CostModel& costs, GraphDetail detail) {
  validate(job);
  validate(plan, job);
  GraphWriter writer(job, costs, plan.threads, detail);
  StepEmitter emitter(writer, job, plan);
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
