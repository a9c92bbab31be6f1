#include "planner/explanation/pareto_front.hpp"

#include <algorithm>

#include "planner/effort/search_settings.hpp"
#include "planner/explanation/batch_that_hides_link.hpp"
#include "planner/explanation/more_kept.hpp"
#include "planner/requests/request.hpp"
#include "planner/requests/run_step.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

/// Distance of each limit from the least memory, over that of the plan before.
constexpr double kShrink = 0.7;
/// Distance from the least memory, over that of the first plan, below which the least itself is
/// tried next.
constexpr double kNearLeast = 0.02;
/// Largest batch size on a front over tokens, over the run's.
constexpr std::int64_t kMoreTokens = 4;

FrontPoint point_of(const Job& job, const Prediction& p) {
  return {.batch_size = job.batch_size,
          .tokens = job.tokens(),
          .hbm = at(p.memory, Tier::hbm).peak,
          .host = at(p.memory, Tier::host).peak,
          .step = p.step,
          .tokens_per_s = p.tokens_per_s,
          .plan = p.plan,
          .plan_hash = p.plan_hash,
          .errors = p.errors};
}

std::int64_t amount(const FrontPoint& point, FrontAxis axis) {
  switch (axis) {
    case FrontAxis::hbm:
      return point.hbm.count();
    case FrontAxis::host:
      return point.host.count();
    case FrontAxis::tokens:
      return point.tokens;
  }
  return 0;
}

bool faster(const FrontPoint& a, const FrontPoint& b, FrontAxis axis) {
  if (axis == FrontAxis::tokens) return a.tokens_per_s > b.tokens_per_s;
  return a.step < b.step;
}

/// Those of `all` that no other point beats both in the step and in the amount, least amount first.
std::vector<FrontPoint> front_of(std::vector<FrontPoint> all, FrontAxis axis) {
  std::ranges::stable_sort(all, [axis](const FrontPoint& a, const FrontPoint& b) {
    if (amount(a, axis) != amount(b, axis)) return amount(a, axis) < amount(b, axis);
    return faster(a, b, axis);
  });
  std::vector<FrontPoint> front;
  for (FrontPoint& point : all) {
    if (front.empty() || faster(point, front.back(), axis)) front.push_back(std::move(point));
  }
  return front;
}

std::vector<FrontPoint> along_memory(const Request& run, Tier tier, const std::vector<Plan>& known,
                                     const FrontProgress& progress, const Deadline& deadline) {
  const Job& job = run.job();
  std::vector<FrontPoint> all;
  for (const Plan& plan : known) {
    const Prediction p = run.predictor.predict(plan).prediction;
    if (p.fits) all.push_back(point_of(job, p));
  }
  SearchSettings quick = run.search;
  quick.effort = kCompareEffort;
  quick.until = deadline;
  ResolvedMachine machine = run.machine();
  Bytes& limit = tier == Tier::hbm ? machine.hbm : machine.host;
  const auto search_within = [&](Bytes within) {
    limit = within;
    return search(
        Predictor(job, machine, run.calibration, run.config.residency, {}, run.predictor.ranks()),
        quick);
  };
  const Bytes limited = limit;
  std::vector<Bytes> limits;
  // The plan of least memory shows the least that suffices.
  if (progress) progress(std::string("the least ") + to_string(tier));
  const auto nothing = search_within(Bytes(1));
  const Bytes least = at(std::get<Infeasible>(nothing).memory, tier).peak;
  std::optional<Bytes> most;  // Amount of the first plan.
  for (Bytes within = limited; within >= least && !deadline.is_late();) {
    if (progress) progress(std::string(to_string(tier)) + " " + format_bytes(within));
    const auto found = search_within(within);
    if (within == least && std::holds_alternative<Infeasible>(found)) break;
    limits.push_back(within);
    Bytes taken = within;
    if (const auto* planned = std::get_if<Planned>(&found)) {
      all.push_back(point_of(job, planned->best.prediction));
      taken = at(planned->best.prediction.memory, tier).peak;
    }
    if (within == least) break;
    most = most.value_or(taken);
    const double above = kShrink * static_cast<double>((taken - least).count());
    const bool near = above < kNearLeast * static_cast<double>((*most - least).count());
    within = near ? least : least + Bytes(static_cast<std::int64_t>(above));
  }
  // A plan found within a small limit may keep more within a larger one.
  std::ranges::sort(limits);
  for (const Bytes within : limits) {
    if (deadline.is_late()) break;
    if (progress) progress(std::string("more kept within ") + format_bytes(within));
    limit = within;
    const Predictor predictor(job, machine, run.calibration, run.config.residency, {},
                              run.predictor.ranks());
    const FrontPoint* best = nullptr;
    for (const FrontPoint& point : all) {
      const bool fits = (tier == Tier::hbm ? point.hbm : point.host) <= within;
      if (fits && (best == nullptr || point.step < best->step)) best = &point;
    }
    if (best == nullptr) continue;
    const auto more = keep_more(best->plan, best->step, predictor, quick);
    if (more) all.push_back(point_of(job, predictor.predict(more->plan).prediction));
  }
  return all;
}

std::vector<FrontPoint> along_tokens(const Request& run, const std::vector<Plan>& known,
                                     const FrontProgress& progress, const Deadline& deadline) {
  const Job& asked = run.job();
  std::vector<std::int64_t> batches{asked.batch_size};
  const std::int64_t most =
      std::min(kMoreTokens * asked.batch_size, kMostMicroBatches * asked.micro_batch);
  for (std::int64_t batch = asked.micro_batch; batch <= most; batch *= 2) batches.push_back(batch);
  std::ranges::sort(batches);
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  std::vector<FrontPoint> all;
  for (const std::int64_t batch : batches) {
    RunConfig other = run.config;
    other.batch_size = batch;
    other.groups = std::min(asked.groups, batch / asked.micro_batch);
    const bool as_asked = batch == asked.batch_size;
    const Request there = run.with(other);
    const Job& job = there.job();
    if (deadline.is_late() && (!as_asked || known.empty())) continue;
    if (progress) progress(std::to_string(job.tokens()) + " tokens a step");
    const auto step =
        as_asked ? step_of(run, kCompareEffort, deadline) : step_of_changed(run, other, deadline);
    if (step) {
      all.push_back(point_of(job, step->prediction));
    }
    if (!as_asked || known.empty()) continue;
    for (const Plan& plan : known) {
      const Prediction p = run.predictor.predict(plan).prediction;
      if (p.fits) all.push_back(point_of(job, p));
    }
  }
  return all;
}

}  // namespace

const char* to_string(FrontAxis axis) {
  switch (axis) {
    case FrontAxis::hbm:
      return "hbm";
    case FrontAxis::host:
      return "host";
    case FrontAxis::tokens:
      return "tokens";
  }
  return "";
}

void compare_front(ParetoFront& front, const Job& job, const Prediction& plan) {
  for (FrontPoint& point : front.points) {
    const double tokens = static_cast<double>(job.tokens()) / static_cast<double>(point.tokens);
    RatioInterval ratio = ratio_interval(point.errors, plan.errors);
    for (double* number : {&ratio.ratio, &ratio.low, &ratio.high}) *number *= tokens;
    point.beside = ratio;
  }
}

ParetoFront pareto_front(const Request& run, FrontAxis axis, const std::vector<Plan>& known,
                         const FrontProgress& progress, const Deadline& deadline) {
  if (run.policy) {
    throw BadRequest("--front: policy " + run.policy->name() +
                     " has one plan; leave --policy out, and the planner looks for the front");
  }
  auto all = axis == FrontAxis::tokens
                 ? along_tokens(run, known, progress, deadline)
                 : along_memory(run, axis == FrontAxis::hbm ? Tier::hbm : Tier::host, known,
                                progress, deadline);
  return {axis, front_of(std::move(all), axis), deadline.is_late()};
}

}  // namespace sluice::planner
