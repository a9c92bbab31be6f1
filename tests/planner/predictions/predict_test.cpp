#include "planner/predictions/predict.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "planner/costs/cost_key.hpp"
#include "planner/costs/sibling_costs.hpp"
#include "planner/plans/random_plan.hpp"
#include "planner/predictions/interval.hpp"
#include "sim/simulate.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::round_machine;
using test::tiny_job;

Job job_of(std::uint64_t seed) {
  Job job = tiny_job(seed % 2 == 0);
  if (seed % 3 == 0) job.optimizer.clip.reset();
  if (seed % 5 == 0) job.gradient_wire = GradientWire::bf16;
  return job;
}

TEST(Prediction, StallsAndComputeSumToTheStepExactly) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Job job = job_of(seed);
    const Prediction p = predict(job, random_plan(job, seed), round_machine(), {});
    const Duration idle = std::accumulate(p.stalls.idle.begin(), p.stalls.idle.end(), Duration(0));
    EXPECT_EQ(p.stalls.compute + idle, p.step);
    EXPECT_EQ(p.stalls.period, p.step);
  }
}

TEST(Prediction, StepIsThePeriodOfItsOwnGraph) {
  const Job job = tiny_job();
  const Predictor predictor(job, round_machine(), {});
  const PredictedStep step = predictor.predict(random_plan(job, 7));
  const sim::Timeline again = sim::simulate(step.graph.graph);
  EXPECT_EQ(again.period(*step.graph.graph.period()), step.prediction.step);
  EXPECT_EQ(predictor.score(step.prediction.plan).step, step.prediction.step);
}

TEST(Prediction, NoPlanBeatsTheBound) {
  for (const std::int64_t hbm : {std::int64_t{300} << 10, std::int64_t{1} << 30}) {
    for (const auto& [device, gain] :
         {std::pair(DeviceKind::host, 0.0), {DeviceKind::cuda, 0.0}, {DeviceKind::cuda, 0.5}}) {
      for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const Job job = job_of(seed);
        ResolvedMachine machine = round_machine(device);
        if (gain > 0) {
          machine.profile.boost_gain = test::measured(gain);
          machine.profile.boost_most = test::measured(1.2);
          machine.profile.boost_window = test::measured(seed % 2 == 0 ? 1e-3 : 50e-3);
        }
        const Plan plan = random_plan(job, seed);
        // The smallest memory that this plan fits in gives the largest bound.
        machine.hbm = at(predict(job, plan, machine, {}).memory, Tier::hbm).peak;
        if (machine.hbm > Bytes(hbm) && hbm > (1 << 20)) machine.hbm = Bytes(hbm);
        const Prediction p = predict(job, plan, machine, {});
        if (!p.fits) continue;
        EXPECT_LE(p.bound.time, to_seconds(p.step) * (1 + 1e-9))
            << "seed " << seed << " by " << to_string(p.bound.by);
      }
    }
  }
}

TEST(Prediction, APlanThatDoesNotFitIsBoundedWithTheMemoryThatItTakes) {
  const Job job = tiny_job();
  UnitPlan resident{.weights = Tier::hbm, .gradients = Tier::hbm, .state = Tier::hbm};
  resident.executor = Executor::gpu;
  resident.when = When::after;
  const Plan plan = uniform_plan(job, resident, 2);
  ResolvedMachine machine = round_machine(DeviceKind::cuda);
  machine.profile.h2d = machine.profile.d2h = test::measured(1e6);
  machine.hbm = machine.host = Bytes(64ll << 30);
  const Prediction roomy = predict(job, plan, machine, {});
  ASSERT_TRUE(roomy.fits);
  machine.hbm = Bytes(1 << 16);
  const Prediction p = predict(job, plan, machine, {});
  ASSERT_FALSE(p.fits);
  EXPECT_EQ(p.step, roomy.step) << "nothing streams either way";
  // What fits there would stream, which takes longer than this plan, which does not.
  EXPECT_GT(Predictor(job, machine, {}).bound().time, to_seconds(p.step));
  EXPECT_LE(p.bound.time, to_seconds(p.step));
  EXPECT_GE(p.bound_ratio(), 1);
}

TEST(Prediction, MemoryPartsSumToThePeakOfEachTier) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Job job = job_of(seed);
    const Prediction p = predict(job, random_plan(job, seed), round_machine(), {});
    for (const TierMemory& tier : p.memory) {
      Bytes sum{0};
      for (const auto& [part, bytes] : tier.parts) sum += bytes;
      EXPECT_EQ(sum, tier.peak);
    }
  }
}

TEST(Prediction, SharesAreShares) {
  const Job job = tiny_job();
  const Prediction p = predict(job, random_plan(job, 3), round_machine(), {});
  EXPECT_NEAR(p.evidence.measured + p.evidence.fitted + p.evidence.datasheet, 1, 1e-9);
  for (const auto& [lane, share] : p.busy) {
    EXPECT_GE(share, 0) << lane;
    EXPECT_LE(share, 1 + 1e-9) << lane;
  }
  EXPECT_LT(p.step_low, to_seconds(p.step));
  EXPECT_GT(p.step_high, to_seconds(p.step));
  EXPECT_NEAR(*p.mfu * 2e9, p.model_flops.count(), 1);
}

TEST(Prediction, AFasterLinkNeverSlowsTheStep) {
  const Job job = tiny_job();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Plan plan = random_plan(job, seed);
    ResolvedMachine faster = round_machine();
    scale_by(faster.profile.h2d, 2);
    scale_by(faster.profile.d2h, 2);
    faster.profile.interference.clear();
    ResolvedMachine slower = round_machine();
    slower.profile.interference.clear();
    const double before = to_seconds(predict(job, plan, slower, {}).step).count();
    EXPECT_LE(to_seconds(predict(job, plan, faster, {}).step).count(), before * 1.02);
  }
}

TEST(Prediction, AboveACapacityDoesNotFitAndSaysByHowMuch) {
  const Job job = tiny_job();
  const Plan plan = uniform_plan(job, {}, 2);
  ResolvedMachine machine = round_machine();
  machine.hbm = at(predict(job, plan, machine, {}).memory, Tier::hbm).peak;
  EXPECT_TRUE(predict(job, plan, machine, {}).fits);
  machine.hbm -= Bytes(1);
  const Prediction p = predict(job, plan, machine, {});
  EXPECT_FALSE(p.fits);
  EXPECT_EQ(at(p.memory, Tier::hbm).missing(), Bytes(1));
  EXPECT_EQ(Predictor(job, machine, {}).score(plan).step, Duration(0));
}

TEST(SiblingCosts, AnUnmeasuredRecomputationScalesLikeTheMeasuredForward) {
  const Job job = tiny_job();
  const ProfileCostModel plain(round_machine().profile, {});
  const auto time = [&](const CostModel& costs, Pass pass) {
    return costs.compute(compute_key(job, pass, 1), work_of(job, pass, 1));
  };
  CalibrationSample forward;
  forward.key = compute_key(job, Pass::block_forward, 1);
  forward.value = 3 * time(plain, Pass::block_forward).amount.count();
  const Predictor predictor(job, round_machine(), {{forward.key, forward}});
  const TaskCost again = time(predictor.costs(), Pass::block_recompute_input);
  EXPECT_NEAR(again.amount.count(), 3 * time(plain, Pass::block_recompute_input).amount.count(),
              1e-12);
  EXPECT_EQ(again.evidence, Evidence::fitted);
  EXPECT_TRUE(again.errs_alone);
  EXPECT_FALSE(time(plain, Pass::block_recompute_input).errs_alone);
  EXPECT_EQ(time(predictor.costs(), Pass::block_forward).evidence, Evidence::measured);
  // Without measurements there is nothing to scale by.
  EXPECT_TRUE(with_siblings(job, round_machine().profile, {}).empty());
}

TEST(PeriodDeviation, CostsThatErrAloneAreIndependentAndOthersOfALaneGoTogether) {
  const auto cost = [](const char* key, bool errs_alone) {
    return CriticalCost{CostKey{key}, LaneKind::compute, Seconds(1), Evidence::fitted,
                        0.1,          errs_alone};
  };
  const MachineProfile profile = test::round_profile();
  // 0.1 and 0.1: sqrt(0.02) when independent, 0.2 together; a period of 0 adds no model error.
  // Deviations between runs of one lane go together in both cases.
  const double of_run = 2 * run_deviation(profile, LaneKind::compute, true);
  EXPECT_NEAR(period_deviation({cost("a", true), cost("b", true)}, Seconds(0), profile).count(),
              std::sqrt(0.02 + of_run * of_run), 1e-12);
  EXPECT_NEAR(period_deviation({cost("a", false), cost("b", false)}, Seconds(0), profile).count(),
              std::sqrt(0.04 + of_run * of_run), 1e-12);
}

TEST(PeriodDeviation, TasksThatNeverRanHereAreLessSureThanTheSimulationAlone) {
  const MachineProfile profile = test::round_profile();
  const CriticalCost ran{CostKey{"a"}, LaneKind::compute, Seconds(1), Evidence::measured, 0, true};
  const CriticalCost scaled{CostKey{"b"}, LaneKind::compute, Seconds(1), Evidence::fitted, 0, true};
  const CriticalCost probed{CostKey{"c"}, LaneKind::compute, Seconds(1), Evidence::measured, 0,
                            false};
  EXPECT_LT(model_deviation(ran), 0.01);
  for (const CriticalCost& other : {scaled, probed}) EXPECT_GT(model_deviation(other), 0.03);
  // Half the period each: the variances are dealt by time.
  const double of_run = 2 * run_deviation(profile, LaneKind::compute, true);
  EXPECT_NEAR(period_deviation({ran, scaled}, Seconds(2), profile).count(),
              std::sqrt(2 * std::pow(model_deviation(ran), 2) +
                        2 * std::pow(model_deviation(scaled), 2) + of_run * of_run),
              1e-12);
  EXPECT_NEAR(period_deviation({}, Seconds(2), profile).count(), 2 * model_deviation({}), 1e-12);
}

TEST(PeriodDeviation, UpdatesAndCopiesOfWhichNothingWasLearntAreLessSure) {
  const MachineProfile profile = test::round_profile();
  for (const LaneKind lane : {LaneKind::cpu, LaneKind::h2d, LaneKind::d2h}) {
    EXPECT_NEAR(run_deviation(profile, lane, false), 2 * run_deviation(profile, lane, true), 1e-12);
    // Alone on its lane, each cost brings its own share; both together what neither averages out.
    const CriticalCost learnt{CostKey{"a"}, lane, Seconds(1), Evidence::fitted, 0, true};
    const CriticalCost probed{CostKey{"b"}, lane, Seconds(1), Evidence::fitted, 0, false};
    const double least = run_deviation(profile, lane, true);
    EXPECT_NEAR(period_deviation({probed}, Seconds(0), profile).count(), 2 * least, 1e-12);
    EXPECT_NEAR(period_deviation({learnt, probed}, Seconds(0), profile).count(),
                std::sqrt(2 * (1 + 4)) * least, 1e-12);
  }
  EXPECT_EQ(run_deviation(profile, LaneKind::compute, false),
            run_deviation(profile, LaneKind::compute, true));
}

TEST(PeriodDeviation, WhereAProbesRoundsDifferUpdatesAreLessSure) {
  MachineProfile profile = test::round_profile();
  const double usual = run_deviation(profile, LaneKind::cpu, true);
  profile.update = {{1, test::measured(1e6, 0.01)}, {2, test::measured(2e6, 0.01)}};
  EXPECT_EQ(run_deviation(profile, LaneKind::cpu, true), usual);
  profile.update = {{1, test::measured(1e6, 0.10)}, {2, test::measured(2e6, 0.10)}};
  EXPECT_NEAR(run_deviation(profile, LaneKind::cpu, true), 0.07, 1e-12);
  profile.update.at(1).count = 1;  // Nothing to compare it with.
  profile.update.at(2).deviation = 0;
  EXPECT_EQ(run_deviation(profile, LaneKind::cpu, true), usual);
}

}  // namespace
}  // namespace sluice::planner
