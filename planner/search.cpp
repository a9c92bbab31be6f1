#include "planner/search.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

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
                                 std::int64_t threads) {
  std::vector<PlanScore> scores(plans.size());
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < plans.size(); i = next++) {
      try {
        scores[i] = predictor.score(plans[i].plan);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(threads), plans.size());
    for (std::size_t i = 1; i < count; ++i) workers.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  return scores;
}

/// Simulates candidates in the order they come, keeps the fastest, and remembers the least bound of
/// what was left out.
class Tournament {
 public:
  Tournament(const Predictor& predictor, const SearchSettings& settings)
      : predictor_(predictor), threads_(std::max<std::int64_t>(1, settings.threads)) {}

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

  /// Fastest first; equals in the order they were simulated.
  [[nodiscard]] const std::vector<Scored>& ranked() const { return ranked_; }
  [[nodiscard]] std::int64_t simulated() const { return simulated_; }
  [[nodiscard]] std::int64_t considered() const {
    return static_cast<std::int64_t>(considered_.size());
  }
  [[nodiscard]] Seconds left_out() const { return left_out_; }

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
    if (effort <= 0 || heavy) {
      left_out_ = std::min(left_out_, candidate.estimate.bound);
      return false;
    }
    effort -= std::max(candidate.estimate.tasks, kLeastCharge);
    return true;
  }

  void play(std::vector<Candidate>& batch, std::int64_t& effort) {
    const std::vector<PlanScore> scores = score_all(predictor_, batch, threads_);
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
  std::set<std::string> considered_;
  std::vector<Scored> ranked_;
  std::int64_t simulated_ = 0;
  Seconds left_out_{std::numeric_limits<double>::infinity()};
};

/// The tier that the leanest plan exceeds by the least.
Infeasible shortage(const Predictor& predictor, const std::vector<Candidate>& plans) {
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
      const double missing = static_cast<double>(at_tier.missing().count()) /
                             static_cast<double>(at_tier.peak.count());
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

}  // namespace

std::variant<Planned, Infeasible> search(const Predictor& predictor,
                                         const SearchSettings& settings) {
  const PlanEstimator estimator(predictor);
  const std::int64_t effort = settings.effort > 0 ? settings.effort : kUsualEffort;
  std::vector<Candidate> all = structures(estimator, predictor, settings.pins);
  const std::vector<Candidate> lean = leanest(estimator, predictor, settings.pins);
  if (all.empty() && lean.empty()) {
    Plan plan = uniform_plan(predictor.job(), {}, 1);
    if (settings.pins) settings.pins(plan);
    validate(plan, predictor.job());  // Says which field.
    throw BadRequest("plan: no plan of this job has the fields that were set; set fewer");
  }
  Tournament tournament(predictor, settings);
  const std::vector<Candidate> structural = all;
  tournament.run(std::move(all), effort / 2);
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
    tournament.run(std::move(small), effort / 4);
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
    tournament.run(std::move(refined), effort / 4);
  }

  const Scored& best = tournament.ranked().front();
  const Seconds step = to_seconds(best.score.step);
  Planned planned{predictor.predict(best.candidate.plan), space_log10(predictor),
                  tournament.considered(), tournament.simulated(), 0};
  if (tournament.left_out() < step) planned.optimality_gap = (step - tournament.left_out()) / step;
  return planned;
}

}  // namespace sluice::planner
