#include "planner/requests/choose_plan.hpp"

#include <utility>

#include "planner/models/support.hpp"
#include "planner/plans/plan_file.hpp"
#include "planner/plans/plan_overrides.hpp"
#include "planner/requests/kept_planned.hpp"
#include "planner/requests/memory_in_modules.hpp"
#include "planner/requests/run_devices.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

Plan plan_of_file(const Request& request) {
  const PlanFile file = read_plan_file(*request.config.plan);
  check_plan_for(file, request.job());
  Plan plan = file.plan;
  require_ranks_of(request.config, plan, request.config.plan->string());
  if (request.search.pins) request.search.pins(plan);
  validate(plan, request.job());
  return plan;
}

/// The plan that autotune stored for this job and machine, if it agrees with the run's pins.
std::optional<ChosenPlan> stored_plan(const Request& request) {
  const Job& job = request.job();
  const auto file = request.store.plan(job_hash(job), profile_hash(request.machine().profile));
  if (!file) return std::nullopt;
  Plan plan = file->plan;
  if (plan.ranks != request.config.devices) return std::nullopt;
  try {
    check_plan_for(*file, job);
    if (request.search.pins) request.search.pins(plan);
    validate(plan, job);
  } catch (const BadRequest&) {
    return std::nullopt;  // It does not agree with the pins, so a new plan is searched for.
  }
  if (!keeps_residency(plan, request.config.residency)) return std::nullopt;
  PredictedStep step = request.predictor.predict(plan);
  if (!step.prediction.fits) return std::nullopt;
  return ChosenPlan{.planned = {.best = std::move(step)}, .source = PlanSource::stored};
}

/// A shortage with what is known of the run all the same.
Infeasible with_known(Infeasible infeasible, const Predictor& predictor) {
  const MachineProfile& profile = predictor.machine().profile;
  infeasible.known = KnownOfRun{.parameters = parameter_count(predictor.job().model),
                                .bound = predictor.bound_with(infeasible.memory),
                                .job_hash = job_hash(predictor.job()),
                                .profile_hash = profile_hash(profile),
                                .cost_model_hash = predictor.costs().hash(),
                                .numerics_id = numerics_class(profile)};
  return infeasible;
}

std::variant<ChosenPlan, Infeasible> found_plan(const Request& request,
                                                const PlanOptions& options) {
  if (options.kept) {
    if (auto kept = kept_planned(request)) {
      return ChosenPlan{.planned = std::move(*kept), .is_kept = true};
    }
  }
  auto found = options.remedies ? search_or_remedy(request.predictor, request.calibration,
                                                   request.search, memory_in_modules(request))
                                : search(request.predictor, request.search);
  if (auto* infeasible = std::get_if<Infeasible>(&found)) {
    return with_known(std::move(*infeasible), request.predictor);
  }
  if (options.kept) keep_planned(request, std::get<Planned>(found));
  return ChosenPlan{.planned = std::move(std::get<Planned>(found))};
}

}  // namespace

std::variant<ChosenPlan, Infeasible> choose_plan(const Request& request,
                                                 const PlanOptions& options) {
  if (options.executable) {
    require_executable(request.job());
    const bool cuda = request.machine().profile.device == DeviceKind::cuda;
    if (cuda) require_computed_by_cuda(request.job().model);
  }
  if (const auto given = given_plan(request)) return choose_given(*given, request, options);
  if (options.stored) {
    if (auto stored = stored_plan(request)) return std::move(*stored);
  }
  return found_plan(request, options);
}

std::optional<GivenPlan> given_plan(const Request& request) {
  if (request.config.plan) return GivenPlan{.plan = plan_of_file(request)};
  if (!request.policy) return std::nullopt;
  return policy_plan(request.config, *request.policy, request.job(), request.machine());
}

std::variant<ChosenPlan, Infeasible> choose_given(const GivenPlan& given, const Request& request,
                                                  const PlanOptions& options) {
  if (options.executable) require_executable(given.plan);
  ChosenPlan chosen{.planned = {.best = request.predictor.predict(given.plan)},
                    .source = given.source,
                    .policy_memory = given.policy_memory};
  Prediction& prediction = chosen.step().prediction;
  apply_policy_memory(chosen.policy_memory, prediction);
  const auto lack = shortage_of(prediction.memory);
  if (!lack || options.unfit == Unfit::kept) return chosen;
  Infeasible infeasible{
      .tier = lack->first, .short_by = lack->second, .memory = prediction.memory, .remedies = {}};
  if (options.remedies) infeasible.remedies = remedies_for(chosen, request);
  return with_known(std::move(infeasible), request.predictor);
}

std::vector<Remedy> remedies_for(const ChosenPlan& chosen, const Request& request) {
  const Prediction& prediction = chosen.step().prediction;
  const bool another_job = request.policy && !request.job().executable();
  if (prediction.fits || another_job) return {};
  return remedies_for_given({prediction.plan, chosen.source, {}}, prediction.memory,
                            request.predictor, request.calibration, request.search,
                            memory_in_modules(request));
}

std::string describe_source(const ChosenPlan& chosen, const RunConfig& config) {
  switch (chosen.source) {
    case PlanSource::file:
      return "the plan of " + config.plan->string();
    case PlanSource::policy:
      return "the plan of policy " + *config.policy;
    case PlanSource::stored:
      return "the stored plan";
    case PlanSource::searched:
      break;
  }
  return chosen.is_kept ? "a plan that an equal search found before" : "a plan found now";
}

}  // namespace sluice::planner
