#include "planner/coarse_ranking.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "planner/interruption.hpp"
#include "planner/parallel_for.hpp"

namespace sluice::planner {
namespace {

/// How little is no improvement.
constexpr double kLeastGain = 2e-4;
/// So near the bound a plan is as good as the best.
constexpr double kNear = 1e-3;
/// Plans that are simulated before the best so far prunes again.
constexpr std::size_t kBatch = 8;

bool is_more_promising(const GuidedPlan& a, const GuidedPlan& b) {
  return a.estimate.expected < b.estimate.expected;
}

bool is_faster(const GuidedPlan& a, const GuidedPlan& b) { return a.coarse < b.coarse; }

}  // namespace

CoarseRanking::CoarseRanking(const Predictor& predictor, const SearchSettings& settings)
    : predictor_(predictor),
      settings_(settings),
      effort_(settings.effort),
      estimator_(predictor),
      steps_(predictor) {}

bool CoarseRanking::is_spent() const {
  return effort_ <= floor_ || (!ranked_.empty() && settings_.is_late());
}

bool CoarseRanking::is_near() const {
  return !ranked_.empty() && to_seconds(ranked_.front().coarse) <= (1 + kNear) * bound_;
}

std::int64_t CoarseRanking::tasks_of(const GuidedPlan& plan) const {
  Plan coarse = plan.plan;
  coarse.copy_chunk = steps_.chunk(plan.plan);
  return estimator_.estimate(coarse).tasks / steps_.times_fewer(plan.plan);
}

bool CoarseRanking::may_fit(const PlanEstimate& estimate) const {
  const ResolvedMachine& machine = predictor_.machine();
  return estimate.host_at_least <= machine.host && estimate.hbm_at_least <= machine.hbm;
}

void CoarseRanking::add(PlanSketch sketch) {
  Plan plan = to_plan(sketch);
  if (predictor_.job().model.tied_head &&
      plan.units.front().gradients != plan.units.back().gradients) {
    return;
  }
  if (settings_.pins) settings_.pins(plan);
  if (!is_valid(plan, predictor_.job()) || !seen_.insert(plan_hash(plan)).second) return;
  const PlanEstimate estimate = estimator_.estimate(plan);
  if (!may_fit(estimate)) return;
  if (!ranked_.empty() && estimate.bound >= to_seconds(ranked_.front().coarse)) return;
  waiting_.push_back({std::move(sketch), std::move(plan), estimate, Duration(0)});
}

void CoarseRanking::drop_costly(std::int64_t tasks) {
  std::erase_if(waiting_, [&](const GuidedPlan& each) {
    const bool costly = tasks_of(each) > tasks;
    if (costly) seen_.erase(plan_hash(each.plan));
    return costly;
  });
}

std::vector<GuidedPlan> CoarseRanking::take_waiting() {
  std::stable_sort(waiting_.begin(), waiting_.end(), is_more_promising);
  return std::exchange(waiting_, {});
}

const GuidedPlan* CoarseRanking::best(std::int64_t rounds) const {
  const auto found = std::find_if(ranked_.begin(), ranked_.end(), [rounds](const GuidedPlan& each) {
    return rounds == 0 || each.plan.rounds == rounds;
  });
  return found == ranked_.end() ? nullptr : &*found;
}

Duration CoarseRanking::least(std::int64_t rounds) const {
  const auto found = least_by_rounds_.find(rounds);
  return found == least_by_rounds_.end() ? Duration::max() : found->second;
}

std::vector<GuidedPlan> CoarseRanking::take_misses(std::int64_t rounds, std::size_t most) {
  std::vector<GuidedPlan> misses = std::exchange(misses_, {});
  if (const GuidedPlan* fits = best(rounds)) {
    std::erase_if(misses, [fits](const GuidedPlan& each) { return !is_faster(each, *fits); });
  }
  std::stable_sort(misses.begin(), misses.end(), is_faster);
  if (misses.size() > most) misses.resize(most);
  return misses;
}

void CoarseRanking::forget_misses() {
  misses_.clear();
  least_over_.reset();
}

/// Plans far from the best are neither improved nor tried.
Duration CoarseRanking::slowest() const {
  return ranked_.empty() ? Duration::max() : ranked_.front().coarse + ranked_.front().coarse / 16;
}

bool CoarseRanking::play(Follow follow, std::int64_t rounds) {
  std::vector<GuidedPlan> plans = take_waiting();
  const GuidedPlan* known = best(rounds);
  const Duration before = known == nullptr ? Duration::max() : known->coarse;
  const auto is_better = [&] {
    const GuidedPlan* now = best(rounds);
    return now != nullptr && to_seconds(now->coarse) < (1 - kLeastGain) * to_seconds(before);
  };
  for (std::size_t next = 0; next < plans.size() && !is_spent();) {
    std::vector<GuidedPlan*> batch;
    for (; next < plans.size() && batch.size() < kBatch; ++next) {
      const double least = ranked_.empty() ? std::numeric_limits<double>::infinity()
                                           : to_seconds(ranked_.front().coarse).count();
      if (plans[next].estimate.bound.count() < least) batch.push_back(&plans[next]);
    }
    simulate(batch);
    // Moves that help are followed at once.
    if (follow == Follow::first && is_better()) break;
    if (is_near()) break;
  }
  return is_better();
}

void CoarseRanking::simulate(const std::vector<GuidedPlan*>& batch) {
  const Duration limit = slowest();
  parallel_for(batch.size(), settings_.threads, [&](std::size_t i) {
    throw_if_stopped(settings_.stop);
    const CoarseStep step = steps_.step(batch[i]->plan, limit);
    batch[i]->coarse = step.step;
    batch[i]->hbm = step.hbm;
    batch[i]->host = step.host;
  });
  for (const GuidedPlan* each : batch) {
    effort_ -= tasks_of(*each);
    const auto [least, first] = least_by_rounds_.try_emplace(each->plan.rounds, each->coarse);
    if (!first) least->second = std::min(least->second, each->coarse);
    if (each->coarse < limit) rank(*each);
  }
}

void CoarseRanking::rank(const GuidedPlan& plan) {
  if (plan.hbm > predictor_.machine().hbm) {
    const Bytes over = plan.hbm - predictor_.machine().hbm;
    least_over_ = least_over_ ? std::min(*least_over_, over) : over;
    misses_.push_back(plan);
    return;
  }
  if (plan.host > predictor_.machine().host) return;
  ranked_.insert(std::upper_bound(ranked_.begin(), ranked_.end(), plan, is_faster), plan);
}

}  // namespace sluice::planner
