#include "planner/costs/lane_boost.hpp"

#include <gtest/gtest.h>

#include "planner/machines/profile_file.hpp"
#include "planner/plans/random_plan.hpp"
#include "planner/predictions/predict.hpp"
#include "sim/graph_file.hpp"
#include "sim/simulate.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::round_machine;
using test::tiny_job;

ResolvedMachine boosting_machine() {
  ResolvedMachine machine = round_machine(DeviceKind::cuda);
  machine.profile.boost_gain = test::measured(0.4);
  machine.profile.boost_most = test::measured(1.15);
  machine.profile.boost_window = test::measured(2e-3);
  return machine;
}

CalibrationSample sample(const CostKey& key, double value) {
  CalibrationSample known;
  known.key = key;
  known.value = value;
  return known;
}

TEST(LaneBoost, IsNoneWhereNobodyFittedItAndOnTheHost) {
  EXPECT_FALSE(lane_boost(round_machine(DeviceKind::cuda).profile, {}));
  MachineProfile host = boosting_machine().profile;
  host.device = DeviceKind::host;
  EXPECT_FALSE(lane_boost(host, {}));
}

TEST(LaneBoost, CalibrationStandsForTheProfileOnceAllThreeNumbersAreKnown) {
  const BoostKeys keys;
  Calibration calibration;
  calibration[keys.gain] = sample(keys.gain, 0.2);
  calibration[keys.most] = sample(keys.most, 1.1);
  const MachineProfile profile = boosting_machine().profile;
  EXPECT_EQ(lane_boost(profile, calibration)->gain, 0.4);
  calibration[keys.window] = sample(keys.window, 0.03);
  EXPECT_EQ(lane_boost(profile, calibration)->gain, 0.2);
  EXPECT_EQ(lane_boost(profile, calibration)->window, Seconds(0.03));
  EXPECT_EQ(lane_boost(profile, calibration)->lasting_gain, 0);
  calibration[keys.lasting_gain] = sample(keys.lasting_gain, 0.1);
  calibration[keys.lasting_window] = sample(keys.lasting_window, 0.5);
  EXPECT_EQ(lane_boost(profile, calibration)->lasting_gain, 0.1);
  EXPECT_EQ(lane_boost(profile, calibration)->lasting_window, Seconds(0.5));
  EXPECT_DOUBLE_EQ(least_share(lane_boost(profile, calibration)), 1 / 1.2);
  calibration[keys.lasting_gain] = sample(keys.lasting_gain, 0.9);
  EXPECT_REFUSED(static_cast<void>(lane_boost(profile, calibration)), "boost_gain");
}

TEST(LaneBoost, RefusesNumbersThatNoSimulationTakes) {
  MachineProfile profile = boosting_machine().profile;
  profile.boost_gain.value = 1.5;
  EXPECT_REFUSED(static_cast<void>(lane_boost(profile, {})), "machine round: boost_gain");
  profile = boosting_machine().profile;
  profile.boost_most.value = 0.9;
  EXPECT_REFUSED(static_cast<void>(lane_boost(profile, {})), "boost_most");
  profile = boosting_machine().profile;
  profile.boost_window.value = Seconds(0);
  EXPECT_REFUSED(static_cast<void>(lane_boost(profile, {})), "boost_window");
}

TEST(LaneBoost, AProfileWithoutItKeepsItsTextAndHash) {
  const MachineProfile plain = round_machine(DeviceKind::cuda).profile;
  EXPECT_EQ(to_json_text(plain).find("boost"), std::string::npos);
  const MachineProfile boosting = boosting_machine().profile;
  const MachineProfile read = profile_from_json(to_json_text(boosting), "p.json");
  EXPECT_EQ(read.boost_most.value, 1.15);
  EXPECT_EQ(profile_hash(read), profile_hash(boosting));
  EXPECT_NE(profile_hash(plain), profile_hash(boosting));
}

TEST(LaneBoost, OnlyPassesWithProductsBoost) {
  const PredictedStep step =
      Predictor(tiny_job(), boosting_machine(), {}).predict(random_plan(tiny_job(), 7));
  ASSERT_EQ(step.graph.graph.boosts().size(), 1U);
  for (std::size_t i = 0; i < step.graph.tasks.size(); ++i) {
    const StepTask& task = step.graph.tasks[i];
    const bool products =
        task.lane == LaneKind::compute && !(task.work.gemms.empty() && task.work.attention.empty());
    if (!products) {
      EXPECT_EQ(step.graph.graph.tasks()[i].boosts, 0) << step.graph.graph.tasks()[i].id;
    }
  }
}

TEST(LaneBoost, PassesThatMoveBytesTakeLessOfIt) {
  MachineProfile profile = boosting_machine().profile;
  profile.hbm_bandwidth.value = BytesPerSecond(1e12);
  Work work;
  EXPECT_EQ(boost_share(profile, work, Seconds(1)), 0);  // No products.
  work.gemms.push_back({1024, 1024, 1024});
  EXPECT_EQ(boost_share(profile, work, Seconds(1)), 1);
  work.streamed = Bytes(125'000'000'000);  // An eighth of a second.
  EXPECT_EQ(boost_share(profile, work, Seconds(1)), 0.5);
  EXPECT_EQ(boost_share(profile, work, Seconds(2)), 0.75);
  EXPECT_EQ(boost_share(profile, work, Seconds(0.2)), 0);
}

TEST(LaneBoost, AStepIsQuickerThanSustainedAndNeverQuickerThanTheMost) {
  int quicker = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Job job = tiny_job();
    const Plan plan = random_plan(job, seed);
    const Duration with = Predictor(job, boosting_machine(), {}).predict(plan).prediction.step;
    const Duration sustained =
        Predictor(job, boosting_machine(), {}, Residency::automatic, CostSwitches{.boost = false})
            .predict(plan)
            .prediction.step;
    EXPECT_EQ(sustained,
              Predictor(job, round_machine(DeviceKind::cuda), {}).predict(plan).prediction.step);
    EXPECT_LE(to_seconds(with).count(), to_seconds(sustained).count() * 1.001);
    EXPECT_GE(to_seconds(with).count(), to_seconds(sustained).count() / 1.15);
    quicker += with < sustained ? 1 : 0;
  }
  EXPECT_GT(quicker, 15);
}

TEST(LaneBoost, TheWrittenGraphHasThePredictedPeriod) {
  ResolvedMachine machine = boosting_machine();
  machine.hbm = machine.host = Bytes(1ll << 34);  // What does not fit has no score.
  const Predictor predictor(tiny_job(), machine, {});
  const PredictedStep step = predictor.predict(random_plan(tiny_job(), 7));
  const sim::TaskGraph read = sim::read_graph(sim::write_graph(step.graph.graph), "g.json");
  EXPECT_EQ(sim::simulate(read).period(*read.period()), step.prediction.step);
  EXPECT_EQ(predictor.score(step.prediction.plan).step, step.prediction.step);
}

TEST(LaneBoost, TheCostModelsHashKnowsIt) {
  const MachineProfile profile = boosting_machine().profile;
  EXPECT_NE(ProfileCostModel(profile, {}).hash(),
            ProfileCostModel(profile, {}, CostSwitches{.boost = false}).hash());
}

}  // namespace
}  // namespace sluice::planner
