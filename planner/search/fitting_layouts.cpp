// Memory and steps of sketched plans, by layouts and simulations of few rounds where those are
// enough.
#include <algorithm>

#include "planner/effort/interruption.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/search/fitting_plans.hpp"

namespace sluice::planner {
namespace {

/// Tasks above which a plan is not laid out as a whole, and a coarse simulation is not made.
constexpr std::int64_t kManyTasks = 60'000, kManyCoarse = 30'000;
/// The most bytes that a layout of few rounds does not know.
constexpr Bytes kLittleLeft{1ll << 20};
/// Rounds of which a layout knows all that more of them take, but for their tokens.
constexpr std::int64_t kFewRounds = 3;
/// Bytes of one token's input and target, on the device and on the host.
constexpr std::int64_t kTokenBytes = 8;

/// Number of rounds of the layout that stands for the plan's: sums of groups differ from round to
/// round.
std::int64_t laid_out_rounds(const Job& job, const Plan& plan) {
  return job.groups > 1 ? plan.rounds : std::min(plan.rounds, kFewRounds);
}

bool all_fit(const Memory& memory, Bytes left = Bytes(0)) {
  return std::ranges::all_of(memory, [left](const TierMemory& tier) {
    return tier.peak == Bytes(0) || tier.peak + left <= tier.capacity;
  });
}

Memory layout_memory(const Predictor& predictor, const Plan& plan) {
  return memory_of(build_timing_graph(predictor.job(), plan, predictor.costs()),
                   predictor.machine());
}

}  // namespace

/// Whether a coarse simulation of the plan has many tasks.
bool FittingPlans::is_costly(const Plan& plan) const {
  Plan coarse = plan;
  coarse.copy_chunk = steps_.chunk(plan);
  const std::int64_t tasks = estimator_.estimate(coarse).tasks / steps_.times_fewer(plan);
  return tasks * laid_out_rounds(predictor_.part(), plan) / plan.rounds > kManyCoarse;
}

/// Lays out the coarse plan with few rounds: each further round takes as much as the others.
void FittingPlans::lay_out_few(TimedPlan& found) const {
  const std::int64_t rounds = laid_out_rounds(predictor_.part(), found.plan);
  const CoarseStep step = of_few_rounds(found.plan, rounds);
  found.hbm = step.hbm;
  found.host = step.host;
  found.step = step.step;
}

/// Adds the steps of further rounds to the step of few: each takes as long as the last of the few.
void FittingPlans::time(TimedPlan& found) const {
  if (found.plan.rounds == laid_out_rounds(predictor_.part(), found.plan)) return;
  const Duration round = found.step - of_few_rounds(found.plan, kFewRounds - 1).step;
  found.step += round * (found.plan.rounds - kFewRounds);
}

CoarseStep FittingPlans::of_few_rounds(const Plan& plan, std::int64_t rounds) const {
  if (plan.rounds == rounds) return steps_.step(plan);
  const Predictor few = predictor_.with_batch(predictor_.part().micro_batch * rounds *
                                              plan.micro_batches_per_round * plan.ranks);
  Plan shorter = plan;
  shorter.rounds = rounds;
  CoarseStep step = CoarseSteps(few).step(shorter);
  const Bytes missing(kTokenBytes * (predictor_.part().tokens() - few.part().tokens()));
  step.hbm += missing;
  step.host += missing * plan.ranks;
  return step;
}

/// Memory of a plan of more than a few rounds, by a layout of few; at most a little is missing.
Memory FittingPlans::memory_of_few(const Plan& plan) const {
  const Predictor few = predictor_.with_batch(predictor_.part().micro_batch * kFewRounds *
                                              plan.micro_batches_per_round * plan.ranks);
  Plan shorter = plan;
  shorter.rounds = kFewRounds;
  Memory memory = layout_memory(few, shorter);
  const Bytes missing(kTokenBytes * (predictor_.part().tokens() - few.part().tokens()));
  at(memory, Tier::hbm).peak += missing;
  at(memory, Tier::host).peak += missing * plan.ranks;
  return memory;
}

/// Memory of a plan: exact, or for plans with many tasks no less than exact.
Memory FittingPlans::memory_at_most(const Plan& plan) const {
  if (plan.rounds == laid_out_rounds(predictor_.part(), plan) ||
      estimator_.estimate(plan).tasks <= kManyTasks) {
    return layout_memory(predictor_, plan);
  }
  Memory memory = memory_of_few(plan);
  bool is_near = false;
  for (const Tier tier : {Tier::hbm, Tier::host}) {
    TierMemory& used = at(memory, tier);
    is_near |= used.fits();
    used.peak += kLittleLeft;
    is_near &= !used.fits();
    if (is_near) return layout_memory(predictor_, plan);
  }
  return memory;
}

/// Whether the plan fits, by a layout of few rounds and, where that leaves little, of all of them.
bool FittingPlans::really_fits(TimedPlan& found) const {
  throw_if_stopped(settings_.stop);
  if (!is_within(found, all_room())) return false;
  if (found.plan.rounds > laid_out_rounds(predictor_.part(), found.plan)) {
    found.memory = memory_of_few(found.plan);
    if (all_fit(found.memory, kLittleLeft)) return true;
  }
  found.memory = layout_memory(predictor_, found.plan);
  return all_fit(found.memory);
}

/// Predicts the step exactly where the graph is not large.
void FittingPlans::predict(TimedPlan& found) const {
  if (estimator_.estimate(found.plan).tasks > kManyTasks) return;
  found.step = predictor_.step(found.plan);
}

}  // namespace sluice::planner
