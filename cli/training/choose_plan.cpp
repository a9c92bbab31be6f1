#include "cli/training/choose_plan.hpp"

#include <algorithm>

#include "planner/plans/plan_overrides.hpp"
#include "planner/requests/prediction_json.hpp"
#include "sim/error.hpp"

namespace sluice::cli {
namespace {

bool keeps_residency(const planner::Plan& plan, planner::Residency residency) {
  return residency != planner::Residency::host ||
         std::ranges::none_of(plan.units, [](const planner::UnitPlan& unit) {
           return unit.state == planner::Tier::hbm;
         });
}

/// The plan that autotune stored for this job and machine, if it agrees with the run's pins.
std::optional<ChosenPlan> stored_plan(const planner::RunConfig& config,
                                      const planner::RunPlanning& run) {
  const planner::Store store = planner::Store::of_user();
  const planner::Job& job = run.predictor.job();
  const auto file =
      store.plan(planner::job_hash(job), planner::profile_hash(run.predictor.machine().profile));
  if (!file) return std::nullopt;
  planner::Plan plan = file->plan;
  try {
    planner::check_plan_for(*file, job);
    apply_plan_overrides(plan, job, config.plan_overrides, config.threads);
    validate(plan, job);
  } catch (const BadRequest&) {
    return std::nullopt;  // It does not agree with the pins, so a new plan is searched for.
  }
  if (!keeps_residency(plan, config.residency)) return std::nullopt;
  planner::PredictedStep step = run.predictor.predict(plan);
  if (!step.prediction.fits) return std::nullopt;
  return ChosenPlan{std::move(step), "stored", "the stored plan"};
}

}  // namespace

std::variant<ChosenPlan, planner::Infeasible> choose_plan(const planner::RunConfig& config,
                                                          const planner::RunPlanning& run) {
  require_executable(run.predictor.job());
  if (const auto plan = planner::given_plan(config, run.predictor.job())) {
    require_executable(*plan);
    planner::PredictedStep step = run.predictor.predict(*plan);
    if (const auto lack = planner::shortage_of(step.prediction.memory)) {
      planner::Infeasible infeasible{.tier = lack->first,
                                     .short_by = lack->second,
                                     .memory = step.prediction.memory,
                                     .remedies = {}};
      infeasible.remedies = planner::remedies_for_given(
          {*plan, config.plan ? "--plan" : "--policy"}, infeasible.memory, run.predictor,
          run.calibration, run.search);
      return infeasible;
    }
    return ChosenPlan{std::move(step), "given",
                      config.plan ? "the plan of " + config.plan->string()
                                  : "the plan of policy " + *config.policy};
  }
  if (auto stored = stored_plan(config, run)) return std::move(*stored);
  auto found = planner::search_or_remedy(run.predictor, run.calibration, run.search);
  if (auto* infeasible = std::get_if<planner::Infeasible>(&found)) return std::move(*infeasible);
  return ChosenPlan{std::move(std::get<planner::Planned>(found).best), "searched",
                    "a plan found now"};
}

}  // namespace sluice::cli
