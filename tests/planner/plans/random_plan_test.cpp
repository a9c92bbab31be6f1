#include "planner/plans/random_plan.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

constexpr std::uint64_t kDraws = 40;

TEST(RandomPlan, FortyDrawsHoldEveryValueOfEveryUnitField) {
  Job job = test::tiny_job();
  job.optimizer.clip.reset();
  std::set<Tier> weights, gradients, state, keep_tier;
  std::set<Keep> keep;
  std::set<Executor> executor;
  std::set<When> when;
  std::set<Staging> staging;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    for (const UnitPlan& unit : random_plan(job, seed).units) {
      weights.insert(unit.weights);
      gradients.insert(unit.gradients);
      state.insert(unit.state);
      keep_tier.insert(unit.keep_tier);
      keep.insert(unit.keep);
      executor.insert(unit.executor);
      when.insert(unit.when);
      staging.insert(unit.staging);
    }
  }
  const std::set<Tier> tiers{Tier::hbm, Tier::host};
  EXPECT_EQ(weights, tiers);
  EXPECT_EQ(gradients, tiers);
  EXPECT_EQ(state, tiers);
  EXPECT_EQ(keep_tier, tiers);
  EXPECT_EQ(keep.size(), 3u);
  EXPECT_EQ(executor.size(), 2u);
  EXPECT_EQ(when.size(), 3u);
  EXPECT_EQ(staging.size(), 2u);
}

TEST(RandomPlan, FortyDrawsHoldEveryCountNearItsLimits) {
  const Job job = test::tiny_job();
  std::set<std::int64_t> weight_buffers, depth, gradient_buffers, activation_buffers, rounds,
      threads;
  std::set<std::int64_t> chunks;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    const Plan plan = random_plan(job, seed);
    weight_buffers.insert(plan.weight_buffers);
    depth.insert(plan.prefetch_depth);
    gradient_buffers.insert(plan.gradient_buffers);
    activation_buffers.insert(plan.activation_buffers);
    rounds.insert(plan.rounds);
    threads.insert(plan.threads);
    chunks.insert(plan.copy_chunk.count());
  }
  EXPECT_EQ(weight_buffers.size(), 5u);  // 1 .. layers + 1
  EXPECT_TRUE(depth.contains(0));
  EXPECT_EQ(gradient_buffers.size(), 3u);
  EXPECT_EQ(activation_buffers.size(), 3u);
  EXPECT_EQ(rounds, (std::set<std::int64_t>{1, 2, 4}));
  EXPECT_EQ(threads.size(), 4u);
  EXPECT_EQ(chunks.size(), 4u);
}

TEST(RandomPlan, EverySeedIsValidAndRepeats) {
  for (const bool tied : {false, true}) {
    const Job job = test::tiny_job(tied);
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
      const Plan plan = random_plan(job, seed);
      EXPECT_NO_THROW(validate(plan, job));
      EXPECT_EQ(plan, random_plan(job, seed));
    }
  }
}

}  // namespace
}  // namespace sluice::planner
