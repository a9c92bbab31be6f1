#include "planner/search.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "planner/disk_search.hpp"
#include "planner/every_plan.hpp"
#include "planner/guided_search.hpp"
#include "planner/interruption.hpp"
#include "planner/parallel_for.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Plans of the guided search that are predicted exactly, and the gap that ends a search.
constexpr std::size_t kTried = 4;
constexpr double kNearEnough = 0.02;
/// Tasks above which a plan is no longer one of many that may be tried.
constexpr std::int64_t kLarge = 30'000;
/// Structures whose buffers are varied.
constexpr std::size_t kRefined = 3;
/// Tasks that a plan counts for at least, so that a small job's search is over at once.
constexpr std::int64_t kLeastCharge = 8000;
/// Tasks above which a plan (many rounds in small chunks) is simulated only while none fits.
constexpr std::int64_t kHeavy = 100'000;
constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
/// Plans that are simulated before the best so far prunes again.
constexpr std::size_t kBatch = 8;

struct Scored {
  Candidate candidate;
  PlanScore score;
};

std::vector<PlanScore> score_all(const Predictor& predictor, const std::vector<Candidate>& plans,
                                 std::int64_t threads, const std::stop_token& stop) {
  std::vector<PlanScore> scores(plans.size());
  parallel_for(plans.size(), threads, [&](std::size_t i) {
    throw_if_stopped(stop);
    scores[i] = predictor.score(plans[i].plan);
  });
  return scores;
}

/// Simulates candidates in the order they come and ranks them.
class Tournament {
 public:
  Tournament(const Predictor& predictor, const SearchSettings& settings)
      : predictor_(predictor),
        threads_(std::max<std::int64_t>(1, settings.threads)),
        stop_(settings.stop) {}

  /// Simulates the best by estimate until about `effort` tasks are spent.
  void run(std::vector<Candidate> candidates, std::int64_t effort) {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return a.estimate.expected < b.estimate.expected;
                     });
    // Some that surely fit come first: what then proves too large costs no more than its time.
    std::vector<Candidate> batch;
    for (const Candidate& candidate : candidates) {
      if (batch.size() == kBatch) break;
      if (candidate.estimate.hbm_at_most > predictor_.machine().hbm) continue;
      if (take(candidate, effort)) batch.push_back(candidate);
    }
    play(batch, effort);
    for (const Candidate& candidate : candidates) {
      if (take(candidate, effort)) batch.push_back(candidate);
      if (batch.size() == kBatch) play(batch, effort);
    }
    play(batch, effort);
  }

  /// Simulates every plan that could be the fastest, by bound; true where any fits.
  bool run_all(const std::vector<Plan>& plans, const Pins& pins) {
    const PlanRelaxation relaxation(predictor_, pins);
    const PlanEstimator estimator(predictor_);
    std::vector<Candidate> all;
    for (const Plan& plan : plans) {
      Candidate candidate{plan, estimator.estimate(plan)};
      candidate.estimate.bound = relaxation.bound_of(plan);
      all.push_back(std::move(candidate));
    }
    std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
      return a.estimate.bound < b.estimate.bound;
    });
    std::int64_t effort = kUnlimited / 2;
    std::vector<Candidate> batch;
    for (const Candidate& candidate : all) {
      if (take(candidate, effort)) batch.push_back(candidate);
      if (batch.size() == kBatch) play(batch, effort);
    }
    play(batch, effort);
    for (const Candidate& candidate : all) {
      const ResolvedMachine& machine = predictor_.machine();
      if (candidate.estimate.hbm_at_least > machine.hbm) continue;
      if (candidate.estimate.host_at_least > machine.host) continue;
      least_bound_ = candidate.estimate.bound;
      break;
    }
    return !ranked_.empty();
  }
  [[nodiscard]] Seconds least_bound() const { return least_bound_; }

  /// Simulates these in their order, a few at a time, until enough fit; true where any did.
  bool try_in_order(const std::vector<GuidedPlan>& plans, std::size_t enough) {
    std::int64_t effort = kUnlimited / 2;
    std::vector<Candidate> batch;
    const std::size_t fitted = ranked_.size();
    for (const GuidedPlan& each : plans) {
      if (ranked_.size() - fitted >= enough) break;
      const Candidate candidate{each.plan, each.estimate};
      if (take(candidate, effort)) batch.push_back(candidate);
      if (batch.size() >= static_cast<std::size_t>(threads_)) play(batch, effort);
    }
    play(batch, effort);
    return ranked_.size() > fitted;
  }

  /// Fastest first; equals in the order they were simulated.
  [[nodiscard]] const std::vector<Scored>& ranked() const { return ranked_; }
  [[nodiscard]] std::int64_t simulated() const { return simulated_; }
  [[nodiscard]] std::int64_t considered() const {
    return static_cast<std::int64_t>(considered_.size());
  }

 private:
  [[nodiscard]] bool could_win(const Candidate& candidate) const {
    return ranked_.empty() || candidate.estimate.bound < to_seconds(ranked_.front().score.step);
  }

  /// Whether to simulate this one; each is asked about once.
  bool take(const Candidate& candidate, std::int64_t& effort) {
    const ResolvedMachine& machine = predictor_.machine();
    if (!considered_.insert(plan_hash(candidate.plan)).second) return false;
    if (candidate.estimate.hbm_at_least > machine.hbm) return false;
    if (candidate.estimate.host_at_least > machine.host || !could_win(candidate)) return false;
    const bool heavy = candidate.estimate.tasks > kHeavy && !ranked_.empty();
    if (effort <= 0 || heavy) return false;
    effort -= std::max(candidate.estimate.tasks, kLeastCharge);
    return true;
  }

  void play(std::vector<Candidate>& batch, std::int64_t& effort) {
    const std::vector<PlanScore> scores = score_all(predictor_, batch, threads_, stop_);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (scores[i].step.count() == 0) {  // It does not fit after all: built, not simulated.
        effort += batch[i].estimate.tasks / 2;
        continue;
      }
      ++simulated_;
      Scored scored{std::move(batch[i]), scores[i]};
      const auto place = std::upper_bound(
          ranked_.begin(), ranked_.end(), scored,
          [](const Scored& a, const Scored& b) { return a.score.step < b.score.step; });
      ranked_.insert(place, std::move(scored));
    }
    batch.clear();
  }

  const Predictor& predictor_;
  std::int64_t threads_;
  std::stop_token stop_;
  std::set<std::string> considered_;
  std::vector<Scored> ranked_;
  std::int64_t simulated_ = 0;
  Seconds least_bound_{0};
};

/// How grave it is that `share` of what a plan needs of a tier is not there. Host memory can be
/// added to, a device's cannot: a little of it missing is as grave as half the host's.
double gravity(Tier tier, double share) {
  return tier == Tier::hbm && share > 0 ? (1 + share) / 2 : share;
}

/// The tier that the leanest plan exceeds, of the plan whose shortage is least grave.
Infeasible shortage(const Predictor& predictor, std::vector<Candidate> plans) {
  // Of large graphs only the one that by estimate lacks least is built.
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
  std::optional<Infeasible> least;
  double least_share = 0;
  for (const Candidate& candidate : plans) {
    const Memory memory = memory_of(
        build_step_graph(predictor.job(), candidate.plan, predictor.costs()), predictor.machine());
    Infeasible worst;
    worst.memory = memory;
    double share = 0;
    for (const Tier tier : {Tier::hbm, Tier::host}) {
      const TierMemory& at_tier = at(memory, tier);
      const double missing = gravity(tier, static_cast<double>(at_tier.missing().count()) /
                                               static_cast<double>(at_tier.peak.count()));
      if (missing > share) {
        share = missing;
        worst.tier = tier;
        worst.short_by = at_tier.missing();
      }
    }
    if (!least || share < least_share) {
      least = worst;
      least_share = share;
    }
  }
  return least.value();
}

std::vector<Candidate> least_memory(std::vector<Candidate> plans, std::size_t count) {
  std::stable_sort(plans.begin(), plans.end(), [](const Candidate& a, const Candidate& b) {
    return a.estimate.hbm_at_most < b.estimate.hbm_at_most;
  });
  if (plans.size() > count) plans.resize(count);
  return plans;
}

/// What the tournament found, and how far from the best it can be.
Planned concluded(const Predictor& predictor, const Tournament& tournament, Seconds bound,
                  Seconds relaxed) {
  const Scored& best = tournament.ranked().front();
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

}  // namespace

std::variant<Planned, Infeasible> search_in_memory(const Predictor& predictor,
                                                   const SearchSettings& settings) {
  const std::int64_t effort = settings.effort > 0 ? settings.effort : kUsualEffort;
  Tournament tournament(predictor, settings);
  if (const auto whole = every_plan(predictor, settings.pins, settings.exhaustive)) {
    if (!whole->empty() && tournament.run_all(*whole, settings.pins)) {
      const Seconds least = to_seconds(tournament.ranked().front().score.step);
      return concluded(predictor, tournament, least, tournament.least_bound());
    }
  }
  GuidedSearch guided(predictor, settings.pins, settings.threads,
                      std::max<std::int64_t>(1, effort / 2), settings.stop);
  const Seconds bound = guided.bound().value_or(Seconds(0));
  const auto near = [&](double gap) {
    return !tournament.ranked().empty() &&
           to_seconds(tournament.ranked().front().score.step) * (1 - gap) <= bound;
  };
  if (guided.bound()) tournament.try_in_order(guided.run(), kTried);
  // Of large graphs enumeration could afford too few to be of use.
  const bool large =
      !tournament.ranked().empty() && tournament.ranked().front().candidate.estimate.tasks > kLarge;
  if (near(kNearEnough) || large) return concluded(predictor, tournament, bound, bound);

  const PlanEstimator estimator(predictor);
  const std::vector<Candidate> lean = leanest(estimator, predictor, settings.pins);
  if (!guided.bound() && !lean.empty()) return shortage(predictor, lean);
  std::vector<Candidate> all = structures(estimator, predictor, settings.pins);
  if (all.empty() && lean.empty() && tournament.ranked().empty()) {
    Plan plan = uniform_plan(predictor.job(), {}, 1);
    if (settings.pins) settings.pins(plan);
    validate(plan, predictor.job());  // Says which field.
    throw BadRequest("plan: no plan of this job has the fields that were set; set fewer");
  }
  const std::vector<Candidate> structural = all;
  tournament.run(std::move(all), std::max<std::int64_t>(1, effort / 4));
  if (tournament.ranked().empty()) {
    // Nothing fits with the usual buffers: the plans that take least, then fewer buffers.
    tournament.run(lean, kUnlimited);
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
  if (tournament.ranked().empty()) {
    return shortage(predictor, lean.empty() ? least_memory(structural, 4) : lean);
  }
  // Twice, for what is best of one field depends on the others.
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<Candidate> refined;
    for (std::size_t i = 0; i < std::min(kRefined, tournament.ranked().size()); ++i) {
      const Plan& base = tournament.ranked()[i].candidate.plan;
      for (Candidate& each : variations(base, estimator, predictor, settings.pins)) {
        refined.push_back(std::move(each));
      }
    }
    tournament.run(std::move(refined), effort / 8);
  }
  return concluded(predictor, tournament, bound, bound);
}

}  // namespace sluice::planner
