#include "planner/predictions/waterfall.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "planner/catalogue/catalogue.hpp"
#include "planner/costs/cost_key.hpp"
#include "planner/plans/random_plan.hpp"
#include "planner/predictions/predict.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using std::chrono::nanoseconds;
using test::round_machine;
using test::tiny_job;

Duration total(const Waterfall& fall) {
  return std::accumulate(fall.terms.begin(), fall.terms.end(), fall.bound);
}

Ceilings ceilings(double compute, double bound, BoundBy by) {
  Ceilings made;
  made.bound.time = Seconds(bound);
  made.bound.by = by;
  made.bound.each[static_cast<std::size_t>(BoundBy::compute)] = Seconds(compute);
  made.bound.each[static_cast<std::size_t>(by)] = Seconds(bound);
  return made;
}

/// 1000 ns: 600 of compute (400 forward and backward, 90 recomputed, 70 updates, 40
/// synchronization), 400 idle.
StallTimes stalls() {
  StallTimes times;
  times.period = nanoseconds(1000);
  times.compute = nanoseconds(600);
  times.kinds = {{TaskKind::forward, nanoseconds(150)},
                 {TaskKind::backward, nanoseconds(250)},
                 {TaskKind::recompute, nanoseconds(90)},
                 {TaskKind::update, nanoseconds(70)},
                 {TaskKind::grads, nanoseconds(40)}};
  times.at(Stall::weights) = nanoseconds(200);
  times.at(Stall::gradient) = nanoseconds(100);
  times.at(Stall::activation) = nanoseconds(50);
  times.at(Stall::optimizer) = nanoseconds(30);
  times.at(Stall::launch) = nanoseconds(15);
  times.at(Stall::tokens) = nanoseconds(5);
  return times;
}

TEST(Waterfall, EveryPartOfTheStepHasItsTerm) {
  const Waterfall fall = waterfall(stalls(), ceilings(300e-9, 300e-9, BoundBy::compute));
  EXPECT_EQ(fall.step, nanoseconds(1000));
  EXPECT_EQ(fall.bound, nanoseconds(300));
  EXPECT_EQ(fall.at(WaterfallTerm::not_compute), nanoseconds(0));
  EXPECT_EQ(fall.at(WaterfallTerm::kernels), nanoseconds(100));  // 400 against a ceiling of 300
  EXPECT_EQ(fall.at(WaterfallTerm::recomputation), nanoseconds(90));
  EXPECT_EQ(fall.at(WaterfallTerm::optimizer), nanoseconds(70));
  EXPECT_EQ(fall.at(WaterfallTerm::updates), nanoseconds(30));
  EXPECT_EQ(fall.at(WaterfallTerm::weights), nanoseconds(200));
  EXPECT_EQ(fall.at(WaterfallTerm::gradients), nanoseconds(100));
  EXPECT_EQ(fall.at(WaterfallTerm::activations), nanoseconds(50));
  EXPECT_EQ(fall.at(WaterfallTerm::launches), nanoseconds(15));
  EXPECT_EQ(fall.at(WaterfallTerm::synchronization), nanoseconds(45));
  EXPECT_EQ(total(fall), fall.step);
  EXPECT_DOUBLE_EQ(fall.bound_ratio(), 1000.0 / 300);
}

Bound bound(double compute, double most, BoundBy by) { return ceilings(compute, most, by).bound; }

TEST(WaterfallAbove, ABoundByComputeLeavesEveryWaitAsItIs) {
  const Waterfall fall = waterfall_above(stalls(), bound(380e-9, 380e-9, BoundBy::compute));
  EXPECT_EQ(fall.at(WaterfallTerm::not_compute), nanoseconds(0));
  EXPECT_EQ(fall.at(WaterfallTerm::kernels), nanoseconds(20));  // 400 run, 380 alone
  EXPECT_EQ(fall.at(WaterfallTerm::weights), nanoseconds(200));
  EXPECT_EQ(total(fall), fall.step);
}

TEST(WaterfallAbove, TheIdleTimeWithinABoundComesOffTheWaitsOfItsResourceFirst) {
  // 250 of the bound is idle time of the compute lane: all 200 of weights, 50 of activations.
  const Waterfall h2d = waterfall_above(stalls(), bound(400e-9, 650e-9, BoundBy::h2d));
  EXPECT_EQ(h2d.bound, nanoseconds(650));
  EXPECT_EQ(h2d.at(WaterfallTerm::not_compute), nanoseconds(0));
  EXPECT_EQ(h2d.at(WaterfallTerm::weights), nanoseconds(0));
  EXPECT_EQ(h2d.at(WaterfallTerm::activations), nanoseconds(0));
  EXPECT_EQ(h2d.at(WaterfallTerm::gradients), nanoseconds(100));
  EXPECT_EQ(total(h2d), h2d.step);
  // With d2h as the bound: 100 of gradients, 50 of activations, 100 of the 200 of weights.
  const Waterfall d2h = waterfall_above(stalls(), bound(400e-9, 650e-9, BoundBy::d2h));
  EXPECT_EQ(d2h.at(WaterfallTerm::gradients), nanoseconds(0));
  EXPECT_EQ(d2h.at(WaterfallTerm::activations), nanoseconds(0));
  EXPECT_EQ(d2h.at(WaterfallTerm::weights), nanoseconds(100));
  EXPECT_EQ(total(d2h), d2h.step);
}

TEST(WaterfallAbove, NamesAreThoseOfTheOtherWaterfallButForKernels) {
  EXPECT_STREQ(name_above(WaterfallTerm::kernels), "slowed_kernels");
  EXPECT_STREQ(name_above(WaterfallTerm::weights), to_string(WaterfallTerm::weights));
  EXPECT_STREQ(label_above(WaterfallTerm::kernels), "slowed kernels");
}

TEST(Waterfall, ABoundThatComputeDoesNotSetComesDownToTheComputeCeilingFirst) {
  const Waterfall fall = waterfall(stalls(), ceilings(300e-9, 700e-9, BoundBy::h2d));
  EXPECT_EQ(fall.bound, nanoseconds(700));
  EXPECT_EQ(fall.at(WaterfallTerm::not_compute), nanoseconds(-400));
  EXPECT_EQ(fall.at(WaterfallTerm::kernels), nanoseconds(100));
  EXPECT_EQ(total(fall), fall.step);
}

TEST(Waterfall, KernelsThatBeatTheProfilesCeilingAreANegativeTerm) {
  const Waterfall fall = waterfall(stalls(), ceilings(450e-9, 450e-9, BoundBy::compute));
  EXPECT_EQ(fall.at(WaterfallTerm::kernels), nanoseconds(-50));
  EXPECT_EQ(total(fall), fall.step);
}

TEST(Waterfall, SumsToTheStepOfEverySimulatedPlan) {
  bool recomputed = false, updated = false, waited = false;
  for (const DeviceKind device : {DeviceKind::host, DeviceKind::cuda}) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      Job job = tiny_job(seed % 2 == 0);
      if (seed % 3 == 0) job.optimizer.clip.reset();
      const ResolvedMachine machine = round_machine(device);
      const PredictedStep step = Predictor(job, machine, {}).predict(random_plan(job, seed));
      const Waterfall fall =
          waterfall(step.graph, step.times, ceilings_of(job, machine, {}, Residency::automatic));
      EXPECT_EQ(fall.step, step.prediction.step);
      EXPECT_EQ(total(fall), fall.step);
      for (std::size_t i = 0; i < kWaterfallTerms; ++i) {
        // Costs are the profile's, so none beats its ceiling.
        if (static_cast<WaterfallTerm>(i) != WaterfallTerm::not_compute) {
          EXPECT_GE(fall.terms[i], nanoseconds(-1)) << to_string(static_cast<WaterfallTerm>(i));
        }
      }
      recomputed |= fall.at(WaterfallTerm::recomputation) > Duration(0);
      updated |= fall.at(WaterfallTerm::optimizer) > Duration(0);
      waited |= fall.at(WaterfallTerm::weights) > Duration(0);
    }
  }
  EXPECT_TRUE(recomputed && updated && waited) << "the plans are too alike";
}

TEST(Waterfall, TableAndJsonHoldEveryTermOfEveryColumn) {
  const Waterfall fall = waterfall(stalls(), ceilings(300e-9, 700e-9, BoundBy::h2d));
  const std::string table = waterfall_table({{"predicted", fall}, {"measured", fall}});
  EXPECT_NE(table.find("bound by h2d"), std::string::npos);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3 + std::ptrdiff_t{kWaterfallTerms});
  const auto json = nlohmann::json::parse(waterfall_json(fall));
  double sum = json["bound_s"];
  for (const auto& [name, seconds] : json["terms_s"].items()) sum += seconds.get<double>();
  EXPECT_NEAR(sum, json["step_s"].get<double>(), 1e-15);
  EXPECT_EQ(json["terms_s"].size(), kWaterfallTerms);
}

TEST(Ceilings, ComputeIsProductsAttentionAndElementWise) {
  for (const bool tied : {false, true}) {
    const Ceilings made =
        ceilings_of(tiny_job(tied), round_machine(DeviceKind::cuda), {}, Residency::automatic);
    EXPECT_NEAR((made.products + made.attention + made.element_wise) / made.compute(), 1, 1e-12);
  }
}

TEST(Ceilings, SlowKernelsMoveThePredictionsBoundAndNotTheMachines) {
  const Job job = tiny_job();
  const ResolvedMachine machine = round_machine(DeviceKind::cuda);
  Calibration slow;
  CalibrationSample sample;
  sample.key = compute_key(job, Pass::block_backward, 1);
  sample.value = 10;
  slow[sample.key] = sample;
  EXPECT_GT(Predictor(job, machine, slow).bound().time, Seconds(10));
  const Seconds before = ceilings_of(job, machine, {}, Residency::automatic).bound.time;
  EXPECT_EQ(ceilings_of(job, machine, slow, Residency::automatic).bound.time, before);
}

TEST(Ceilings, AreNoSlowerThanAnyRateOfTheProfile) {
  for (const CatalogueMachine& entry : catalogue_machines()) {
    const MachineProfile machine = find_machine(entry.name);
    const MachineProfile top = at_ceilings(machine);
    for (const ProductPoint& point : machine.gemm) {
      EXPECT_GE(top.peak_bf16.value, point.rate.value) << entry.name;
    }
    EXPECT_GE(top.attention_forward.value, machine.attention_forward.value) << entry.name;
    EXPECT_GE(top.attention_backward.value, machine.attention_backward.value) << entry.name;
    EXPECT_LE(top.peak_bf16.value, machine.peak_bf16.value) << entry.name;
  }
}

// 2 x 1e12 FLOPs of products at 1e14, 4.8e9 bytes at 4.8e12: 20 ms and 1 ms.
TEST(Ceilings, TimeOfOneTasksWork) {
  MachineProfile machine = round_machine(DeviceKind::cuda).profile;
  machine.gemm.clear();
  machine.gemm_ceiling.value = FlopsPerSecond(1e14);
  machine.hbm_bandwidth.value = BytesPerSecond(4.8e12);
  Work work;
  work.gemms.push_back({10000, 10000, 10000});
  work.streamed = Bytes(4'800'000'000);
  work.kernels = 7;
  EXPECT_NEAR(ceiling_time(work, machine).count(), 0.021, 1e-12);
}

}  // namespace
}  // namespace sluice::planner
