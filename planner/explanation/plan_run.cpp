#include "planner/explanation/plan_run.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "planner/effort/deadline.hpp"
#include "planner/effort/interruption.hpp"
#include "planner/effort/search_effort.hpp"
#include "planner/effort/search_settings.hpp"
#include "planner/files/choice.hpp"
#include "planner/requests/choose_plan.hpp"
#include "planner/requests/run_devices.hpp"
#include "planner/search/plan_space.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

/// Effort of a search that only time ends, and the longest time of such a search in seconds.
constexpr std::int64_t kNoLimit = 1ll << 60;
constexpr double kLongest = 86400;

/// Completes a policy's plan as the result of a search that considered nothing else.
void complete(Planned& planned, const Predictor& predictor) {
  const Prediction& p = planned.best.prediction;
  planned.space_log10 = space_log10(predictor);
  planned.considered = planned.simulated = 1;
  planned.bound = planned.relaxed_bound = std::min(p.bound.time, to_seconds(p.step));
  planned.optimality_gap = (to_seconds(p.step) - planned.bound) / to_seconds(p.step);
}

/// Division of the given time between parts; time that one part does not use is left to those after
/// it.
class TimeShares {
 public:
  explicit TimeShares(const PlanRequest& request)
      : all_(request.seconds ? Deadline::in(*request.seconds) : Deadline{}) {
    left_ = kSearch + kExplain + (request.free ? kExtra : 0) + (request.hide_link ? kExtra : 0) +
            (request.config.devices > 1 ? kExtra : 0) +
            kExtra * static_cast<double>(request.fronts.size());
  }
  static constexpr double kSearch = 4, kExplain = 1, kExtra = 2;

  /// End time of the next part, whose share of the time is in proportion to `weight`.
  Deadline next(double weight) {
    const Deadline until = all_.part(weight / left_);
    left_ -= weight;
    return until;
  }

 private:
  Deadline all_;
  double left_ = 0;
};

/// The plan of the policy or of a search with the effort or the time that was asked for.
std::variant<PlanReport, Infeasible> planned(Request request, bool is_fresh) {
  if (request.search.until.is_set()) request.search.effort = kNoLimit;
  auto found = choose_plan(request, {.kept = !is_fresh});
  if (auto* infeasible = std::get_if<Infeasible>(&found)) return std::move(*infeasible);
  ChosenPlan& chosen = std::get<ChosenPlan>(found);
  if (chosen.source == PlanSource::policy) complete(chosen.planned, request.predictor);
  return PlanReport{
      .planned = std::move(chosen.planned), .explanation = {}, .is_kept = chosen.is_kept};
}

/// Explains the plan; if the explanation finds a faster plan, explains and takes that one instead.
PlanExplanation explained(Planned& planned, const Request& run, Replan replan) {
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

/// Progress function that also throws Interrupted once stop is requested.
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
  const RunConfig& config = request.config;
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
  if (request.free) require_one_device(config, "--free");
  if (request.hide_link) require_one_device(config, "--hide-link");
  if (!request.fronts.empty()) require_one_device(config, "--front");
  TimeShares shares(request);
  Request run = resolve(config, Store::of_user(), request.policy);
  std::optional<ChosenSizes> sizes;
  if (request.free) {
    sizes = choose_sizes(run, *request.free, say, shares.next(TimeShares::kExtra));
    run = run.with(sizes->config);
  }
  run.search.stop = request.stop;
  if (request.effort) run.search.effort = search_effort(*request.effort, "--effort");
  run.search.until = shares.next(TimeShares::kSearch);
  say("searching");
  auto found = planned(run, request.is_fresh);
  if (auto* infeasible = std::get_if<Infeasible>(&found)) {
    return {std::move(run), std::move(*infeasible)};
  }
  run.search.until = shares.next(TimeShares::kExplain);
  say("explaining");
  PlanReport report = std::move(std::get<PlanReport>(found));
  report.explanation =
      explained(report.planned, run, run.policy ? Replan::never : Replan::where_it_helps);
  report.policy = config.policy;
  report.sizes = std::move(sizes);
  if (request.hide_link) {
    const auto progress = [&](std::int64_t batch) {
      say(std::to_string(batch) + " sequences a step");
    };
    report.link = batch_that_hides_link(
        run, {.progress = progress, .deadline = shares.next(TimeShares::kExtra)});
  }
  if (run.config.devices > 1) {
    say("comparing with one device");
    report.devices =
        devices_pay(run, report.planned.best.prediction.step, shares.next(TimeShares::kExtra));
  }
  for (const FrontAxis axis : request.fronts) {
    report.fronts.push_back(pareto_front(run, axis, {report.planned.best.prediction.plan}, say,
                                         shares.next(TimeShares::kExtra)));
    compare_front(report.fronts.back(), run.job(), report.planned.best.prediction);
  }
  say("");
  return {std::move(run), std::move(report)};
}

}  // namespace sluice::planner
