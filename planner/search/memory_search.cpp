#include "planner/search/memory_search.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "planner/effort/search_settings.hpp"
#include "planner/guided/guided_search.hpp"
#include "planner/guided/ring_gain.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/search/every_plan.hpp"
#include "planner/search/fitting_plans.hpp"
#include "planner/search/tournament.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Plans that fit which are predicted exactly, because coarse times do not order neighbours.
constexpr std::size_t kTried = 4;
/// Share of a time budget that the guided search has; exact predictions come after it.
constexpr double kGuidedPart = 0.8;
/// Tasks above which a graph is large.
constexpr std::int64_t kLarge = 30'000;
/// Number of structures whose buffers are varied. Serves hosts with hardly enough memory (72 B on
/// an L40S), where the fastest structure has no room for more buffers.
constexpr std::size_t kRefined = 3;
constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

/// Rates how grave it is that `share` of what a plan needs of a tier is not there. Host memory can
/// be added, a device's cannot: a little of that missing is as grave as half of the host's.
double gravity(Tier tier, double share) {
  return tier == Tier::hbm && share > 0 ? (1 + share) / 2 : share;
}

/// Shortage of a plan with such memory, and its gravity: 0 where nothing is short.
std::pair<Infeasible, double> lacking(const Memory& memory) {
  Infeasible worst;
  worst.memory = memory;
  double gravest = 0;
  for (const Tier tier : {Tier::hbm, Tier::host}) {
    const TierMemory& at_tier = at(memory, tier);
    const double missing = gravity(tier, static_cast<double>(at_tier.missing().count()) /
                                             static_cast<double>(at_tier.peak.count()));
    if (missing <= gravest) continue;
    gravest = missing;
    worst.tier = tier;
    worst.short_by = at_tier.missing();
  }
  return {worst, gravest};
}

/// The shortage of the plan whose shortage is least grave.
Infeasible shortage(const Predictor& predictor, std::vector<Candidate> plans,
                    const FittingPlans& sketches) {
  // Where graphs are large only the one that by estimate lacks least is built.
  const auto lacks = [&](const Candidate& candidate) {
    const auto share = [](Bytes needed, Bytes capacity) {
      return static_cast<double>((needed - capacity).count()) / static_cast<double>(needed.count());
    };
    return std::max(
        gravity(Tier::hbm, share(candidate.estimate.hbm_at_least, predictor.machine().hbm)),
        gravity(Tier::host, share(candidate.estimate.host_at_least, predictor.machine().host)));
  };
  std::stable_sort(plans.begin(), plans.end(),
                   [&](const Candidate& a, const Candidate& b) { return lacks(a) < lacks(b); });
  if (!plans.empty() && plans.front().estimate.tasks > kLarge) plans.resize(1);
  std::vector<Memory> memories;
  memories.reserve(plans.size() + 2);
  for (const Tier tier : {Tier::hbm, Tier::host}) {
    if (const auto smallest = sketches.plan_of_least_memory(tier))
      memories.push_back(smallest->memory);
  }
  for (const Candidate& candidate : plans) {
    memories.push_back(
        memory_of(build_timing_graph(predictor.job(), candidate.plan, predictor.costs()),
                  predictor.machine()));
  }
  std::optional<std::pair<Infeasible, double>> least;
  for (const Memory& memory : memories) {
    auto each = lacking(memory);
    if (!least || each.second < least->second) least = std::move(each);
  }
  return least.value().first;
}

std::vector<Candidate> least_memory(std::vector<Candidate> plans, std::size_t count) {
  std::stable_sort(plans.begin(), plans.end(), [](const Candidate& a, const Candidate& b) {
    return a.estimate.hbm_at_most < b.estimate.hbm_at_most;
  });
  if (plans.size() > count) plans.resize(count);
  return plans;
}

/// The tournament's best plan, and how far from the best possible it can be.
Planned concluded(const Predictor& predictor, const Tournament& tournament, Seconds bound,
                  Seconds relaxed) {
  const ScoredCandidate& best = tournament.ranked().front();
  const Seconds step = to_seconds(best.score.step);
  Planned planned{predictor.predict(best.candidate.plan),
                  space_log10(predictor),
                  tournament.considered(),
                  tournament.simulated(),
                  0,
                  std::min(bound, step),
                  relaxed};
  planned.optimality_gap = (step - planned.bound) / step;
  return planned;
}

/// Searches plans without state in a ring, unless pins leave nothing else, for one that is faster
/// than those of the tournament. The bound is of these plans.
std::variant<Planned, Infeasible> search_without_rings(const Predictor& predictor,
                                                       const SearchSettings& settings,
                                                       Tournament tournament) {
  const std::int64_t effort = settings.effort > 0 ? settings.effort : kUsualEffort;
  SearchSettings inner = settings;
  inner.effort = std::max<std::int64_t>(1, effort / 2);
  inner.until = settings.until.part(kGuidedPart);
  GuidedSearch guided(predictor, inner);
  Seconds bound = guided.bound().value_or(Seconds(0));
  const auto near = [&](double gap) {
    return !tournament.ranked().empty() &&
           to_seconds(tournament.ranked().front().score.step) * (1 - gap) <= bound;
  };
  if (guided.bound()) {
    tournament.try_in_order(guided.run(), kTried);
    bound = *guided.bound();  // Effort proves more.
  }
  // Effort or time that is left goes into a search from another start.
  SearchSettings rest = inner;
  rest.effort = guided.unspent();
  if (!tournament.ranked().empty() && !near(kNearEnough) && rest.effort >= kQuickEffort &&
      !rest.is_late()) {
    tournament.try_in_order(GuidedSearch(predictor, rest, StartFrom::few_slots).run(), kTried);
  }
  // Where graphs are large the enumeration could afford too few plans to be of use.
  const bool large =
      !tournament.ranked().empty() && tournament.ranked().front().candidate.estimate.tasks > kLarge;
  const bool late = !tournament.ranked().empty() && settings.is_late();
  if (near(kNearEnough) || large || late) return concluded(predictor, tournament, bound, bound);

  const PlanEstimator estimator(predictor);
  const std::vector<Candidate> smallest =
      plans_of_least_memory(estimator, predictor, settings.pins);
  if (!guided.bound() && !smallest.empty()) {
    // Should a constraint of the relaxation refuse what fits, enumeration finds it.
    Infeasible least = shortage(predictor, smallest, FittingPlans(predictor, settings));
    if (least.short_by.count() > 0) return least;
  }
  std::vector<Candidate> all = structures(estimator, predictor, settings.pins);
  if (all.empty() && smallest.empty() && tournament.ranked().empty()) {
    Plan plan = predictor.plan_of({}, 1);
    if (settings.pins) settings.pins(plan);
    validate(plan, predictor.job());  // Says which field.
    throw BadRequest("plan: no plan of this job has the fields that were set; set fewer");
  }
  const std::vector<Candidate> structural = all;
  tournament.run(std::move(all), std::max<std::int64_t>(1, effort / 4));
  if (tournament.ranked().empty()) {
    // Nothing fits with the usual buffers, so plans of least memory and then fewer buffers are
    // tried.
    tournament.run(smallest, kUnlimited);
    std::vector<Candidate> small;
    for (const Candidate& each : least_memory(structural, 12)) {
      for (Candidate& variation : variations(each.plan, estimator, predictor, settings.pins)) {
        if (variation.plan.weight_buffers <= 2 && variation.plan.gradient_buffers <= 2) {
          small.push_back(std::move(variation));
        }
      }
    }
    tournament.run(std::move(small), std::max<std::int64_t>(1, effort / 4));
  }
  std::size_t bases = kRefined;
  std::int64_t share = effort / 8;
  if (tournament.ranked().empty()) {
    const FittingPlans sketches(predictor, settings);
    std::vector<TimedPlan> fitting = sketches.plans_of_little_memory();
    if (auto usual = sketches.usual_one()) fitting.push_back(std::move(*usual));
    for (const TimedPlan& each : fitting) {
      tournament.try_fitting({each.plan, estimator.estimate(each.plan)});
    }
    if (fitting.empty()) {
      return shortage(predictor, smallest.empty() ? least_memory(structural, 4) : smallest,
                      sketches);
    }
    // It is not known which of them has room for what makes it faster.
    bases = fitting.size();
    share = std::max(effort, kQuickEffort);
  }
  // Twice, for the best value of one field depends on the others.
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<Candidate> refined;
    for (std::size_t i = 0; i < std::min(bases, tournament.ranked().size()); ++i) {
      const Plan& base = tournament.ranked()[i].candidate.plan;
      for (Candidate& each : variations(base, estimator, predictor, settings.pins)) {
        refined.push_back(std::move(each));
      }
    }
    tournament.run(std::move(refined), share);
  }
  return concluded(predictor, tournament, bound, bound);
}

/// The best of what was found and of plans with state in a ring, with the bound of all of them.
std::variant<Planned, Infeasible> search_rings(const Predictor& predictor,
                                               const SearchSettings& settings,
                                               std::variant<Planned, Infeasible> found) {
  SearchSettings inner = settings;
  inner.effort =
      std::max<std::int64_t>(1, (settings.effort > 0 ? settings.effort : kUsualEffort) / 2);
  const GuidedSearch guided(predictor, inner, StartFrom::rings);
  auto* best = std::get_if<Planned>(&found);
  Tournament tournament(predictor, settings);
  const auto is_near = [&] {
    return best != nullptr &&
           to_seconds(best->best.prediction.step) * (1 - kNearEnough) <= *guided.bound();
  };
  if (!guided.bound()) return found;
  if (!is_near() && !settings.is_late()) {
    // Plans of rings alone: mixtures with other updates start from a sketch that is no faster.
    inner.pins = [&settings, clips = predictor.job().optimizer.clip.has_value()](Plan& plan) {
      for (UnitPlan& unit : plan.units) {
        unit.executor = Executor::gpu;
        unit.state = unit.gradients = Tier::host;
        unit.staging = Staging::ring;
        unit.when = clips ? When::after : When::backward;
      }
      if (settings.pins) settings.pins(plan);
    };
    tournament.try_in_order(GuidedSearch(predictor, inner).run(), kTried);
  }
  const Seconds bound = *guided.bound();
  if (!tournament.ranked().empty()) {
    Planned ringed = concluded(predictor, tournament, bound, bound);
    if (best == nullptr) return ringed;
    ringed.considered += best->considered;
    ringed.simulated += best->simulated;
    if (ringed.best.prediction.step < best->best.prediction.step) return ringed;
    best->considered = ringed.considered;
    best->simulated = ringed.simulated;
  }
  if (best == nullptr) return found;
  const Seconds step = to_seconds(best->best.prediction.step);
  best->bound = std::min(bound, step);
  best->relaxed_bound = bound;
  best->optimality_gap = (step - best->bound) / step;
  return found;
}

}  // namespace

std::variant<Planned, Infeasible> search_in_memory(const Predictor& predictor,
                                                   const SearchSettings& settings) {
  Tournament tournament(predictor, settings);
  if (const auto whole = every_plan(predictor, settings.pins, settings.exhaustive)) {
    if (!whole->empty() && tournament.run_all(*whole, settings.pins)) {
      return concluded(predictor, tournament, tournament.left_bound(), tournament.least_bound());
    }
  }
  auto found = search_without_rings(predictor, settings, std::move(tournament));
  if (!has_rings_beside_others(predictor, settings.pins)) return found;
  auto* planned = std::get_if<Planned>(&found);
  std::optional<Seconds> step;
  if (planned != nullptr) step = to_seconds(planned->best.prediction.step);
  const bool is_late = planned != nullptr && settings.is_late();
  if (!is_late && rings_may_gain(predictor, settings.pins, step)) {
    return search_rings(predictor, settings, std::move(found));
  }
  if (planned != nullptr) planned->leaves_rings_out = true;
  return found;
}

}  // namespace sluice::planner
