// Single plans whose step one constraint of the relaxation sets.
#include <gtest/gtest.h>

#include "planner/relaxation/plan_relaxation.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::round_machine;
using test::tiny_job;

/// One block's records leave, in four times as long as they are made: with few slots its passes
/// wait for them, which is all that the step does beyond computing.
TEST(PlanRelaxation, FewSlotsForRecordsAreWaitedFor) {
  ResolvedMachine machine = round_machine();
  machine.hbm = machine.hbm * 64;
  scale_by(machine.profile.d2h, 1.0 / 4);
  const Predictor predictor(tiny_job(), machine, {});
  const PlanRelaxation relaxation(predictor, {});
  Plan plan = uniform_plan(predictor.job(), {}, 1);
  for (std::size_t i = 0; i < plan.units.size(); ++i) {
    UnitPlan& unit = plan.units[i];
    unit.weights = unit.gradients = unit.state = Tier::hbm;
    unit.executor = Executor::gpu;
    unit.when = When::after;
    if (i > 0 && i + 1 < plan.units.size()) unit.keep = Keep::all;
  }
  plan.units[1].keep_tier = Tier::host;
  ASSERT_EQ(plan.micro_batches_per_round, 4);
  Seconds fewer(1e9);
  for (const std::int64_t slots : {1, 2, 3, 4}) {
    plan.activation_buffers = slots;
    const Seconds step = to_seconds(predictor.score(plan).step);
    const Seconds bound = relaxation.bound_of(plan);
    EXPECT_LE(bound, step) << slots;
    EXPECT_GT(bound, step * (slots == 1 ? 0.92 : 0.98)) << slots;
    EXPECT_LT(bound, fewer * 0.98) << slots;
    fewer = bound;
  }
}

/// Without clipping the CPU updates the embedding, or a block, between its last pass backward and
/// its next forward, and little else goes on: a step is no shorter than that and the passes.
TEST(PlanRelaxation, WithoutClippingAUnitGoesRoundBeforeTheNextStep) {
  Job job = tiny_job();
  job.optimizer.clip.reset();
  for (const bool embedding : {true, false}) {
    for (const bool boosts : {false, true}) {
      ResolvedMachine machine = round_machine(DeviceKind::cuda);
      machine.hbm = machine.hbm * 64;
      machine.host += Bytes(1ll << 31);
      machine.profile.interference = {{LaneKind::compute, LaneKind::h2d, test::measured(0.9)}};
      for (auto& [threads, rate] : machine.profile.update) rate.value /= 8;
      if (boosts) {
        machine.profile.boost_gain = test::measured(0.2);
        machine.profile.boost_most = test::measured(1.2);
        machine.profile.boost_window = test::measured(2e-3);
      }
      const Predictor predictor(job, machine, {});
      const PlanRelaxation relaxation(predictor, {});
      Plan plan = uniform_plan(job, {}, 1);
      plan.threads = 2;
      for (std::size_t i = 0; i < plan.units.size(); ++i) {
        UnitPlan& unit = plan.units[i];
        unit.weights = unit.gradients = unit.state = Tier::hbm;
        unit.executor = Executor::gpu;
        unit.when = When::backward;
        if (i > 0 && i + 1 < plan.units.size()) unit.keep = Keep::all;
        const bool block = i > 0 && i + 1 < plan.units.size();
        if (embedding ? i != 0 : !block) continue;
        unit.weights = unit.gradients = unit.state = Tier::host;
        unit.executor = Executor::cpu;
      }
      const Seconds step = to_seconds(predictor.score(plan).step);
      EXPECT_LE(relaxation.bound_of(plan), step) << embedding << boosts;
      Plan resident = plan;
      for (UnitPlan& unit : resident.units) {
        unit.weights = unit.gradients = unit.state = Tier::hbm;
        unit.executor = Executor::gpu;
      }
      const Seconds round = step - to_seconds(predictor.score(resident).step);
      EXPECT_GT(round, step * 0.05) << embedding << boosts;
      // All but what passes before the block take, and what rest gives back.
      EXPECT_GT(relaxation.bound_of(plan) - relaxation.bound_of(resident),
                round * (embedding ? (boosts ? 0.55 : 0.7) : 0.3))
          << embedding << boosts;
    }
  }
}

/// Running sums of four blocks are loaded, added to and stored through so many slots.
TEST(PlanRelaxation, SumsGoThroughFewSlotsInTurn) {
  ResolvedMachine machine = round_machine();
  machine.hbm = machine.hbm * 64;
  Job job = tiny_job();
  job.batch_size = 6;
  const Predictor predictor(job, machine, {});
  const PlanRelaxation relaxation(predictor, {});
  Plan plan = uniform_plan(job, {}, 6);
  for (std::size_t i = 0; i < plan.units.size(); ++i) {
    UnitPlan& unit = plan.units[i];
    unit.weights = Tier::hbm;
    unit.keep = i > 0 && i + 1 < plan.units.size() ? Keep::all : Keep::input;
  }
  Seconds fewer(1e9), one(0);
  for (const std::int64_t slots : {1, 2, 4}) {
    plan.gradient_buffers = slots;
    const Seconds step = to_seconds(predictor.score(plan).step);
    const Seconds bound = relaxation.bound_of(plan);
    EXPECT_LE(bound, step) << slots;
    EXPECT_LE(bound, fewer) << slots;
    if (slots == 1) one = bound;
    fewer = bound;
  }
  EXPECT_GT(one, fewer * 1.05);
}

}  // namespace
}  // namespace sluice::planner
