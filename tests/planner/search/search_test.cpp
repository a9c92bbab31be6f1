#include "planner/search/search.hpp"

#include <gtest/gtest.h>

#include "planner/effort/search_settings.hpp"
#include "planner/plans/random_plan.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/searching.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::least_hbm;
using test::planned;
using test::quick;
using test::round_machine;
using test::tiny_job;

TEST(Search, FindsAPlanNoSlowerThanRandomOnes) {
  const Job job = tiny_job();
  const Predictor predictor(job, round_machine(), {});
  const Planned found = planned(predictor, quick());
  EXPECT_TRUE(found.best.prediction.fits);
  EXPECT_GT(found.simulated, 0);
  EXPECT_GT(found.space_log10, 6);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const PlanScore score = predictor.score(random_plan(job, seed));
    if (score.step.count() == 0) continue;
    EXPECT_LE(found.best.prediction.step.count(), 1.02 * static_cast<double>(score.step.count()))
        << "seed " << seed;
  }
}

TEST(Search, GapIsBetweenZeroAndOneAndTheSameEveryTime) {
  const Job job = tiny_job();
  const Predictor predictor(job, round_machine(), {});
  const Planned one = planned(predictor, quick());
  SearchSettings alone = quick();
  alone.threads = 1;
  const Planned other = planned(predictor, alone);
  EXPECT_EQ(one.best.prediction.plan, other.best.prediction.plan);
  EXPECT_EQ(one.optimality_gap, other.optimality_gap);
  EXPECT_GE(one.optimality_gap, 0);
  EXPECT_LT(one.optimality_gap, 1);
}

TEST(Search, ATimeThatIsOverStillLeavesAPlanAndAnHonestGap) {
  const Job job = tiny_job();
  const Predictor predictor(job, round_machine(), {});
  SearchSettings late = quick();
  late.effort = std::int64_t{1} << 60;
  late.until = Deadline::in(Seconds(0));
  const Planned found = planned(predictor, late);
  EXPECT_TRUE(found.best.prediction.fits);
  const Seconds step = to_seconds(found.best.prediction.step);
  EXPECT_NEAR(found.optimality_gap, (step - found.bound) / step, 1e-12);
  const Seconds best = to_seconds(planned(predictor, quick()).best.prediction.step);
  EXPECT_LE(found.bound, best);
  EXPECT_LT(found.simulated, 20);
}

/// A search through a space as a whole that time ends knows the bound of what it did not simulate.
TEST(Search, ASmallSpaceCutShortByTimeHasAGap) {
  const Job job = tiny_job();
  const Predictor predictor(job, round_machine(), {});
  SearchSettings whole = quick([&job](Plan& plan) {
    const auto units = plan.units;
    plan = uniform_plan(job, {}, 1);
    for (std::size_t i = 1; i + 1 < units.size(); ++i) plan.units[i].keep = units[i].keep;
  });
  whole.exhaustive = 1'000'000;
  const Planned best = planned(predictor, whole);
  EXPECT_EQ(best.optimality_gap, 0);
  EXPECT_GT(best.relaxed_bound, Seconds(0));
  EXPECT_LE(best.relaxed_bound, best.bound);
  whole.until = Deadline::in(Seconds(0));
  const Planned early = planned(predictor, whole);
  EXPECT_LE(early.bound, best.bound);
  EXPECT_LE(early.simulated, best.simulated);
}

TEST(Search, PinsHold) {
  const Job job = tiny_job();
  const Predictor predictor(job, round_machine(), {});
  const Planned found = planned(predictor, quick([](Plan& plan) {
                                  plan.weight_buffers = 1;
                                  plan.prefetch_depth = 0;
                                  for (UnitPlan& unit : plan.units) unit.when = When::after;
                                }));
  EXPECT_EQ(found.best.prediction.plan.weight_buffers, 1);
  for (const UnitPlan& unit : found.best.prediction.plan.units) EXPECT_EQ(unit.when, When::after);
}

TEST(Search, ResidencyHostKeepsStateOutOfHbm) {
  const Job job = tiny_job();
  const Predictor predictor(job, round_machine(), {}, Residency::host);
  for (const UnitPlan& unit : planned(predictor, quick()).best.prediction.plan.units) {
    EXPECT_EQ(unit.state, Tier::host);
  }
}

TEST(Search, TheLeanestPlanIsFoundInExactlyItsMemory) {
  const Job job = tiny_job();
  ResolvedMachine machine = round_machine();
  machine.hbm = least_hbm(job);
  const Planned found = planned(Predictor(job, machine, {}), quick());
  EXPECT_LE(at(found.best.prediction.memory, Tier::hbm).peak, machine.hbm);
}

TEST(Search, PinsThatNoPlanCanHaveAreRefused) {
  const Predictor predictor(tiny_job(), round_machine(), {});
  EXPECT_ANY_THROW(search(predictor, quick([](Plan& plan) { plan.weight_buffers = -1; })));
}

}  // namespace
}  // namespace sluice::planner
