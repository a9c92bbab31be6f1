#include "planner/explanation/plan_run.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "planner/effort/deadline.hpp"
#include "planner/effort/interruption.hpp"
#include "planner/effort/search_effort.hpp"
#include "planner/effort/search_settings.hpp"
#include "planner/files/choice.hpp"
#include "planner/policies/policy.hpp"
#include "planner/requests/prediction_json.hpp"
#include "planner/search/plan_space.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

/// Tasks of a search that time alone ends, and the most seconds of one.
constexpr std::int64_t kNoLimit = 1ll << 60;
constexpr double kLongest = 86400;

/// The policy's plan as a search's result, or what it lacks.
std::variant<Planned, Infeasible> plan_of_policy(const RunConfig& config, const RunPlanning& run) {
  const Predictor& predictor = run.predictor;
  const PolicyPlan made = policy_plan(config, predictor.job());
  Planned planned{.best = predictor.predict(made.plan)};
  Prediction& p = planned.best.prediction;
  apply_policy_memory(made, p);
  if (const auto lack = shortage_of(p.memory)) {
    Infeasible infeasible{
        .tier = lack->first, .short_by = lack->second, .memory = p.memory, .remedies = {}};
    // A search would answer for a job that the policy made and nothing executes.
    if (!predictor.job().executable()) return infeasible;
    infeasible.remedies = remedies_for_given({made.plan, "--policy"}, p.memory, predictor,
                                             run.calibration, run.search);
    return infeasible;
  }
  planned.space_log10 = space_log10(predictor);
  planned.considered = planned.simulated = 1;
  planned.bound = planned.relaxed_bound = std::min(p.bound.time, to_seconds(p.step));
  planned.optimality_gap = (to_seconds(p.step) - planned.bound) / to_seconds(p.step);
  return planned;
}

/// Shares of the time that was given: what a part does not use is left to those after it.
class TimeShares {
 public:
  explicit TimeShares(const PlanRequest& request)
      : all_(request.seconds ? Deadline::in(*request.seconds) : Deadline{}) {
    left_ = kSearch + kExplain + (request.free ? kExtra : 0) + (request.hide_link ? kExtra : 0) +
            kExtra * static_cast<double>(request.fronts.size());
  }
  static constexpr double kSearch = 4, kExplain = 1, kExtra = 2;

  /// Until when the next part may take, of that weight.
  Deadline next(double weight) {
    const Deadline until = all_.part(weight / left_);
    left_ -= weight;
    return until;
  }

 private:
  Deadline all_;
  double left_ = 0;
};

/// The search, as long as was asked for.
std::variant<Planned, Infeasible> searched(const RunPlanning& run) {
  SearchSettings settings = run.search;
  if (settings.until.is_set()) settings.effort = kNoLimit;
  return search_or_remedy(run.predictor, run.calibration, settings);
}

/// Explains the plan; where the explanation comes upon a faster one, that one instead.
PlanExplanation explained(Planned& planned, const RunPlanning& run, Replan replan) {
  PlanExplanation explanation =
      explain(planned.best, run.predictor, run.calibration, run.search, replan);
  const auto better = better_plan(explanation, run.predictor);
  if (!better) return explanation;
  planned.best = run.predictor.predict(*better);
  const Seconds step = to_seconds(planned.best.prediction.step);
  planned.optimality_gap = (step - planned.bound) / step;
  ++planned.considered;
  ++planned.simulated;
  return explain_better(planned.best, explanation, run.predictor, run.calibration, run.search);
}

/// Says what is being looked at, and stops there where it was asked to.
std::function<void(const std::string&)> stopping_progress(const PlanRequest& request) {
  return [&request](const std::string& what) {
    throw_if_stopped(request.stop);
    request.progress(what);
  };
}

}  // namespace

std::vector<FrontAxis> parse_front_axes(const std::string& text) {
  std::vector<FrontAxis> axes;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    axes.push_back(
        parse_choice(name, "--front", {FrontAxis::hbm, FrontAxis::host, FrontAxis::tokens}));
  }
  if (axes.empty()) throw BadRequest("--front: names no axis; write hbm,host,tokens");
  return axes;
}

PlannedRun plan_run(const PlanRequest& request) {
  const auto say = stopping_progress(request);
  RunConfig config = request.config;
  if (request.seconds && request.effort) {
    throw BadRequest("--seconds: takes the place of --effort; give one of them");
  }
  if (request.seconds && !(request.seconds->count() > 0 && request.seconds->count() <= kLongest)) {
    throw BadRequest("--seconds: must be above 0 and at most 86400");
  }
  if (config.plan) {
    throw BadRequest("--plan: plan looks for one; sluice predict says what a given plan does");
  }
  if (!request.fronts.empty() && config.policy) {
    throw BadRequest("--front: a policy has one plan; leave --policy out to search for the front");
  }
  TimeShares shares(request);
  std::optional<ChosenSizes> sizes;
  if (request.free) {
    sizes =
        choose_sizes(config, *request.free, say, Store::of_user(), shares.next(TimeShares::kExtra));
    config = sizes->config;
  }
  RunPlanning run = planning_of(config);
  run.search.stop = request.stop;
  if (request.effort) run.search.effort = search_effort(*request.effort, "--effort");
  run.search.until = shares.next(TimeShares::kSearch);
  say("searching");
  auto found = config.policy ? plan_of_policy(config, run) : searched(run);
  if (auto* infeasible = std::get_if<Infeasible>(&found)) {
    return {std::move(config), std::move(run), std::move(*infeasible)};
  }
  run.search.until = shares.next(TimeShares::kExplain);
  say("explaining");
  PlanReport report{.planned = std::move(std::get<Planned>(found)), .explanation = {}};
  report.explanation =
      explained(report.planned, run, config.policy ? Replan::never : Replan::where_it_helps);
  report.policy = config.policy;
  report.sizes = std::move(sizes);
  if (request.hide_link) {
    const auto progress = [&](std::int64_t batch) {
      say(std::to_string(batch) + " sequences a step");
    };
    report.link = batch_that_hides_link(
        config, {.progress = progress, .deadline = shares.next(TimeShares::kExtra)});
  }
  for (const FrontAxis axis : request.fronts) {
    report.fronts.push_back(pareto_front(config, axis, {report.planned.best.prediction.plan}, say,
                                         Store::of_user(), shares.next(TimeShares::kExtra)));
  }
  say("");
  return {std::move(config), std::move(run), std::move(report)};
}

}  // namespace sluice::planner
