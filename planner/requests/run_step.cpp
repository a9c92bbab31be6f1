#include "planner/requests/run_step.hpp"

#include "planner/policies/policy.hpp"
#include "sim/error.hpp"

namespace sluice::planner {

std::optional<PredictedStep> step_of_run(const RunConfig& config, std::int64_t effort,
                                         const Store& store, const Deadline& deadline) {
  RunPlanning run = planning_of(config, store);
  if (config.policy) {
    const PolicyPlan made = policy_plan(config, run.predictor.job());
    PredictedStep step = run.predictor.predict(made.plan);
    apply_policy_memory(made, step.prediction);
    if (!step.prediction.fits) return std::nullopt;
    return step;
  }
  run.search.effort = effort;
  run.search.until = deadline;
  auto found = search(run.predictor, run.search);
  if (auto* planned = std::get_if<Planned>(&found)) return std::move(planned->best);
  return std::nullopt;
}

std::optional<PredictedStep> step_of_changed_run(const RunConfig& config, const Store& store,
                                                 const Deadline& deadline) {
  try {
    return step_of_run(config, kCompareEffort, store, deadline);
  } catch (const BadRequest&) {
    return std::nullopt;
  }
}

}  // namespace sluice::planner
