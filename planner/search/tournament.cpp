#include "planner/search/tournament.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "planner/effort/interruption.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/effort/search_settings.hpp"

namespace sluice::planner {
namespace {

/// The fewest tasks that a plan counts for, so that a small job's search is over at once.
constexpr std::int64_t kLeastCharge = 8000;
/// Tasks above which a plan (many rounds in small chunks) is simulated only while none fits.
constexpr std::int64_t kHeavy = 100'000;
constexpr std::int64_t kAnyEffort = std::numeric_limits<std::int64_t>::max() / 2;
/// Plans simulated at one time, before the best so far prunes again.
constexpr std::size_t kAtATime = 8;

/// Scores of the plans in their order; those whose chains alone take `enough` are not simulated.
std::vector<PlanScore> score_all(const Predictor& predictor, const std::vector<Candidate>& plans,
                                 std::int64_t threads, const std::stop_token& stop,
                                 std::optional<Duration> enough = std::nullopt) {
  std::vector<PlanScore> scores(plans.size());
  parallel_for(plans.size(), threads, [&](std::size_t i) {
    throw_if_stopped(stop);
    scores[i] = predictor.score(plans[i].plan, enough);
  });
  return scores;
}

}  // namespace

Tournament::Tournament(const Predictor& predictor, const SearchSettings& settings)
    : predictor_(predictor),
      settings_(settings),
      threads_(std::max<std::int64_t>(1, settings.threads)) {}

void Tournament::run(std::vector<Candidate> candidates, std::int64_t effort) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.estimate.expected < b.estimate.expected;
                   });
  // A few that surely fit come first, so that the best so far prunes the others.
  std::vector<Candidate> batch;
  for (const Candidate& candidate : candidates) {
    if (batch.size() == kAtATime) break;
    if (candidate.estimate.hbm_at_most > predictor_.machine().hbm) continue;
    if (take(candidate, effort)) batch.push_back(candidate);
  }
  play(batch, effort);
  for (const Candidate& candidate : candidates) {
    if (take(candidate, effort)) batch.push_back(candidate);
    if (batch.size() == kAtATime) play(batch, effort);
  }
  play(batch, effort);
}

bool Tournament::run_all(const std::vector<Plan>& plans, const Pins& pins) {
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
  const auto best = [this] {
    return ranked_.empty() ? Duration::max() : ranked_.front().score.step;
  };
  least_bound_ = Seconds(std::numeric_limits<double>::infinity());
  std::int64_t effort = kAnyEffort;
  std::size_t next = 0;
  while (next < all.size() && could_win(all[next]) && !is_over()) {
    std::vector<Candidate> batch;
    for (; next < all.size() && batch.size() < kAtATime; ++next) {
      if (take(all[next], effort)) batch.push_back(all[next]);
    }
    const auto scores = score_all(predictor_, batch, threads_, settings_.stop, best());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (scores[i].chain.count() == 0) continue;  // The plan does not fit.
      least_bound_ = std::min(least_bound_, std::max(batch[i].estimate.bound, scores[i].chain));
      if (scores[i].step.count() > 0) rank(std::move(batch[i]), scores[i]);
    }
  }
  if (ranked_.empty()) return false;
  // All that is left has at least the next one's bound.
  left_bound_ = to_seconds(best());
  if (next < all.size()) left_bound_ = std::min(left_bound_, all[next].estimate.bound);
  least_bound_ = std::min(least_bound_, left_bound_);
  return true;
}

bool Tournament::try_in_order(const std::vector<GuidedPlan>& plans, std::size_t enough) {
  std::int64_t effort = kAnyEffort;
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

void Tournament::try_fitting(Candidate candidate) {
  considered_.insert(plan_hash(candidate.plan));
  std::int64_t effort = kAnyEffort;
  std::vector<Candidate> batch{std::move(candidate)};
  play(batch, effort);
}

bool Tournament::could_win(const Candidate& candidate) const {
  return ranked_.empty() || candidate.estimate.bound < to_seconds(ranked_.front().score.step);
}

bool Tournament::is_over() const { return !ranked_.empty() && settings_.is_late(); }

bool Tournament::take(const Candidate& candidate, std::int64_t& effort) {
  const ResolvedMachine& machine = predictor_.machine();
  if (is_over() || !considered_.insert(plan_hash(candidate.plan)).second) return false;
  if (candidate.estimate.hbm_at_least > machine.hbm) return false;
  if (candidate.estimate.host_at_least > machine.host || !could_win(candidate)) return false;
  const bool heavy = candidate.estimate.tasks > kHeavy && !ranked_.empty();
  if (effort <= 0 || heavy) return false;
  effort -= std::max(candidate.estimate.tasks, kLeastCharge);
  return true;
}

void Tournament::play(std::vector<Candidate>& batch, std::int64_t& effort) {
  const std::vector<PlanScore> scores = score_all(predictor_, batch, threads_, settings_.stop);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (scores[i].step.count() == 0) {  // It does not fit after all: built, not simulated.
      effort += batch[i].estimate.tasks / 2;
      continue;
    }
    rank(std::move(batch[i]), scores[i]);
  }
  batch.clear();
}

void Tournament::rank(Candidate candidate, const PlanScore& score) {
  ++simulated_;
  ScoredCandidate scored{std::move(candidate), score};
  const auto place = std::upper_bound(ranked_.begin(), ranked_.end(), scored,
                                      [](const ScoredCandidate& a, const ScoredCandidate& b) {
                                        return a.score.step < b.score.step;
                                      });
  ranked_.insert(place, std::move(scored));
}

}  // namespace sluice::planner
