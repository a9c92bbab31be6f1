#include "planner/guided/coarse_ranking.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "planner/effort/interruption.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/effort/search_settings.hpp"

namespace sluice::planner {
namespace {

/// Smallest relative gain that counts as an improvement.
constexpr double kLeastGain = 2e-4;
/// Relative distance to the bound at which a plan is as good as the best.
constexpr double kNear = 1e-3;
/// Ratio to the best step above which a number of rounds is not sketched with embedding and head
/// streamed again. Serves jobs of many micro-batches (8 B on an H100), whose effort would end
/// before all numbers of rounds were sketched.
constexpr double kSlowOuterUnits = 1.05;
/// Ranked plans that are kept, beside the best of each number of rounds.
constexpr std::size_t kMostRanked = 128;
/// Plans simulated at one time, before the best so far prunes again.
constexpr std::size_t kBatch = 8;

bool is_more_promising(const GuidedPlan& a, const GuidedPlan& b) {
  return a.estimate.expected < b.estimate.expected;
}

bool has_fixed_outer_units(const RelaxedNode& node) { return node.embed || node.head; }

bool is_faster(const GuidedPlan& a, const GuidedPlan& b) { return a.coarse < b.coarse; }

}  // namespace

CoarseRanking::CoarseRanking(const Predictor& predictor, const SearchSettings& settings)
    : predictor_(predictor),
      settings_(settings),
      effort_(settings.effort),
      estimator_(predictor),
      steps_(predictor) {}

bool CoarseRanking::allow(std::int64_t tasks) {
  later_ = std::max<std::int64_t>(0, settings_.effort - tasks);
  return later_ > 0;
}

bool CoarseRanking::is_spent() const {
  return left() <= floor_ || (!ranked_.empty() && until_.is_late());
}

bool CoarseRanking::is_better(Duration now, Duration before) {
  return to_seconds(now) < (1 - kLeastGain) * to_seconds(before);
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
  if (predictor_.part().model.tied_head &&
      plan.units.front().gradients != plan.units.back().gradients) {
    return;
  }
  if (settings_.pins) settings_.pins(plan);
  if (!is_valid(plan, predictor_.job()) || !seen_.insert(plan_hash(plan)).second) return;
  const PlanEstimate estimate = estimator_.estimate(plan);
  if (!may_fit(estimate)) {
    const Bytes over = estimate.hbm_at_least - predictor_.machine().hbm;
    if (over > Bytes(0) && estimate.host_at_least <= predictor_.machine().host) {
      note_miss(sketch, over);
    }
    return;
  }
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

std::vector<GuidedPlan> CoarseRanking::take_larger(const GuidedPlan& from) {
  const auto fits = [&](const GuidedPlan& each) {
    const Bytes more = std::max(each.estimate.hbm_at_least - from.estimate.hbm_at_least,
                                each.estimate.hbm_at_most - from.estimate.hbm_at_most);
    return from.hbm + more <= predictor_.machine().hbm;
  };
  const auto larger = std::stable_partition(waiting_.begin(), waiting_.end(), fits);
  std::vector<GuidedPlan> taken(std::make_move_iterator(larger),
                                std::make_move_iterator(waiting_.end()));
  waiting_.erase(larger, waiting_.end());
  return taken;
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

std::vector<GuidedPlan> CoarseRanking::take_misses(Tier tier, std::int64_t rounds,
                                                   std::size_t most) {
  std::vector<GuidedPlan> misses = std::exchange(tier == Tier::hbm ? misses_ : host_misses_, {});
  if (const GuidedPlan* fits = best(rounds)) {
    std::erase_if(misses, [fits](const GuidedPlan& each) { return !is_faster(each, *fits); });
  }
  std::stable_sort(misses.begin(), misses.end(), is_faster);
  if (misses.size() > most) misses.resize(most);
  return misses;
}

bool CoarseRanking::fixed_outer_units_are_slow(std::int64_t rounds) const {
  const auto least = least_of_fixed_outer_units_.find(rounds);
  const GuidedPlan* fits = best(rounds);
  return fits != nullptr && least != least_of_fixed_outer_units_.end() &&
         to_seconds(least->second) > kSlowOuterUnits * to_seconds(fits->coarse);
}

CoarseRanking::SketchKind CoarseRanking::kind_of(const RelaxedNode& node) {
  return {node.rounds, has_fixed_outer_units(node), node.gradients_apart};
}

Bytes CoarseRanking::more_of_host(std::int64_t rounds) const {
  const auto more = more_of_host_.find(rounds);
  return more == more_of_host_.end() || best(rounds) != nullptr ? Bytes(0) : more->second;
}

Bytes CoarseRanking::reserve_to_fit(const RelaxedNode& node) const {
  const auto miss = nearest_misses_.find(kind_of(node));
  if (miss == nearest_misses_.end() || best(node.rounds) != nullptr) return Bytes(0);
  return miss->second.reserve + miss->second.over + miss->second.over / 8;
}

void CoarseRanking::forget_misses() {
  misses_.clear();
  least_over_.reset();
}

/// Step time above which plans are not ranked.
Duration CoarseRanking::slowest() const {
  return ranked_.empty() ? Duration::max() : ranked_.front().coarse + ranked_.front().coarse / 16;
}

bool CoarseRanking::play(Follow follow, std::int64_t rounds) {
  std::vector<GuidedPlan> plans = take_waiting();
  const GuidedPlan* known = best(rounds);
  const Duration before = known == nullptr ? Duration::max() : known->coarse;
  const auto is_better = [&] {
    const GuidedPlan* now = best(rounds);
    return now != nullptr && CoarseRanking::is_better(now->coarse, before);
  };
  for (std::size_t next = 0; next < plans.size() && !is_spent();) {
    std::vector<GuidedPlan*> batch;
    std::int64_t affordable = left() - floor_;
    for (; next < plans.size() && batch.size() < kBatch; ++next) {
      const double least = ranked_.empty() ? std::numeric_limits<double>::infinity()
                                           : to_seconds(ranked_.front().coarse).count();
      if (plans[next].estimate.bound.count() >= least) continue;
      // The last plan may take more than is left, or plans of many tasks would never be tried.
      if (affordable <= 0) break;
      affordable -= tasks_of(plans[next]);
      batch.push_back(&plans[next]);
    }
    simulate(batch);
    // A move that helps is followed at once.
    if (follow == Follow::first && is_better()) break;
    if (is_near()) break;
  }
  return is_better();
}

std::vector<GuidedPlan> CoarseRanking::try_all(std::vector<PlanSketch> sketches) {
  for (PlanSketch& sketch : sketches) add(std::move(sketch));
  std::vector<GuidedPlan> plans = take_waiting();
  std::int64_t affordable = left() - floor_;
  std::vector<GuidedPlan*> batch;
  for (GuidedPlan& each : plans) {
    if (affordable <= 0) break;
    affordable -= tasks_of(each);
    batch.push_back(&each);
  }
  simulate(batch);
  plans.resize(batch.size());
  std::erase_if(plans, [this](const GuidedPlan& each) {
    return each.hbm == Bytes(0) || share_over(each) > 0;  // No layout: it was far too slow.
  });
  std::stable_sort(plans.begin(), plans.end(), is_faster);
  return plans;
}

bool CoarseRanking::would_fit(const PlanSketch& sketch, const GuidedPlan& known) const {
  Plan plan = to_plan(sketch);
  if (settings_.pins) settings_.pins(plan);
  if (!is_valid(plan, predictor_.job()) || seen_.contains(plan_hash(plan))) return false;
  const PlanEstimate estimate = estimator_.estimate(plan);
  const Bytes more = std::max(estimate.hbm_at_least - known.estimate.hbm_at_least,
                              estimate.hbm_at_most - known.estimate.hbm_at_most);
  return may_fit(estimate) && known.hbm + more <= predictor_.machine().hbm;
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
    const auto note = [each](std::map<std::int64_t, Duration>& all) {
      const auto [least, first] = all.try_emplace(each->plan.rounds, each->coarse);
      if (!first) least->second = std::min(least->second, each->coarse);
    };
    note(least_by_rounds_);
    if (each->sketch.from && has_fixed_outer_units(*each->sketch.from))
      note(least_of_fixed_outer_units_);
    if (each->coarse < limit) rank(*each);
  }
}

double CoarseRanking::share_over(const GuidedPlan& plan) const {
  const auto over = [](Bytes needed, Bytes memory) {
    return std::max(0.0, static_cast<double>((needed - memory).count())) /
           static_cast<double>(memory.count());
  };
  const ResolvedMachine& machine = predictor_.machine();
  return over(plan.hbm, machine.hbm) + over(plan.host, machine.host);
}

const GuidedPlan* CoarseRanking::nearest_miss(std::int64_t rounds) const {
  const auto nearest = nearest_plans_.find(rounds);
  return nearest == nearest_plans_.end() ? nullptr : &nearest->second;
}

void CoarseRanking::note_miss(const PlanSketch& sketch, Bytes over) {
  least_over_ = least_over_ ? std::min(*least_over_, over) : over;
  if (!sketch.from) return;
  const NearMiss miss{over, sketch.from->reserve};
  const auto [nearest, first] = nearest_misses_.try_emplace(kind_of(*sketch.from), miss);
  if (!first && over < nearest->second.over) nearest->second = miss;
}

void CoarseRanking::rank(const GuidedPlan& plan) {
  if (const double over = share_over(plan); over > 0) {
    const auto [nearest, first] = nearest_plans_.try_emplace(plan.plan.rounds, plan);
    if (!first && over < share_over(nearest->second)) nearest->second = plan;
  }
  if (plan.hbm > predictor_.machine().hbm) {
    note_miss(plan.sketch, plan.hbm - predictor_.machine().hbm);
    misses_.push_back(plan);
    return;
  }
  if (plan.host > predictor_.machine().host) {
    const Bytes more = plan.host - plan.estimate.host_at_least;
    const auto [least, first] = more_of_host_.try_emplace(plan.plan.rounds, more);
    if (!first) least->second = std::min(least->second, more);
    host_misses_.push_back(plan);
    return;
  }
  ranked_.insert(std::upper_bound(ranked_.begin(), ranked_.end(), plan, is_faster), plan);
  // The slowest plan goes unless it is the best of its number of rounds.
  if (ranked_.size() > kMostRanked && best(ranked_.back().plan.rounds) != &ranked_.back()) {
    ranked_.pop_back();
  }
}

}  // namespace sluice::planner
