#include "planner/costs/cost_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "planner/costs/cost_key.hpp"
#include "planner/costs/profile_rates.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/predictions/ceilings.hpp"
#include "planner/requests/request.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::round_profile;

Calibration one(const std::string& key, double value) {
  CalibrationSample sample;
  sample.key = CostKey{key};
  sample.value = value;
  sample.deviation = value * 0.01;
  return {{sample.key, sample}};
}

double use_of(const TaskCost& cost, const std::string& link) {
  for (const auto& [name, per_unit] : cost.uses) {
    if (name == link) return per_unit;
  }
  return 0;
}

TEST(GemmRate, IsInterpolatedInLogFlopsAndConstantBeyond) {
  const MachineProfile profile = round_profile();
  EXPECT_EQ(gemm_rate(profile, Flops(10)).value.count(), 0.5e9);
  EXPECT_EQ(gemm_rate(profile, Flops(1e12)).value.count(), 1e9);
  EXPECT_NEAR(gemm_rate(profile, Flops(1e6)).value.count(), 0.75e9, 1);  // half way from 1e3 to 1e9
}

TEST(ComputeCost, AddsProductsAttentionStreamsAndOverheads) {
  const ProfileCostModel costs(round_profile(), {});
  Work work;
  work.gemms = {{1000, 1000, 500, 3}};  // 1e9 FLOPs each at 1e9/s
  work.streamed = Bytes(500'000'000);   // 0.5 s
  work.kernels = 10;                    // 20 us
  const TaskCost cost = costs.compute(CostKey{"forward/x"}, work);
  EXPECT_NEAR(cost.amount.count(), 3.50002, 1e-9);
  EXPECT_EQ(cost.cap, Rate(1));
  EXPECT_EQ(cost.evidence, Evidence::fitted);
  EXPECT_EQ(use_of(cost, "cores"), 1);
  EXPECT_GT(cost.relative_deviation, 0);
}

// Half of a tile filled: 64 of 128 rows, 16 of 32 terms, at 1e9/s of the library's products.
TEST(ComputeCost, ProductsOfExpertsTakeWhatTheirOwnKernelsDoOnACudaDevice) {
  const auto seconds_of = [](const MachineProfile& profile, const Gemm& gemm) {
    Work work;
    work.gemms = {gemm};
    return ProfileCostModel(profile, {}).compute(CostKey{"forward/x"}, work).amount.count();
  };
  const Gemm rows{64, 500, 1000, 3, Gemm::Dealt::rows};
  const Gemm terms{500, 1000, 16, 3, Gemm::Dealt::terms};
  const MachineProfile cuda = round_profile(DeviceKind::cuda);
  EXPECT_NEAR(seconds_of(cuda, rows),
              3 * (2 * 64 * 500e3 / (0.5e9 * expert_share(Gemm::Dealt::rows)) +
                   2e-9 * (64 * 1000 + 500 * 1000 + 64 * 500)),
              1e-9);
  EXPECT_NEAR(seconds_of(cuda, terms),
              3 * (2 * 500e3 * 16 / (0.5e9 * expert_share(Gemm::Dealt::terms)) +
                   1e-9 * (2 * 16 * (500 + 1000) + 8 * 500 * 1000)),
              1e-9);
  for (Gemm gemm : {rows, terms}) {
    const double on_host = seconds_of(round_profile(DeviceKind::host), gemm);
    const double at_peak = seconds_of(at_ceilings(cuda), gemm);
    EXPECT_NEAR(at_peak, flops(gemm).count() / 2e9, 1e-12) << "whoever wrote the kernels";
    gemm.dealt = Gemm::Dealt::nothing;
    EXPECT_EQ(on_host, seconds_of(round_profile(DeviceKind::host), gemm));
    EXPECT_EQ(at_peak, seconds_of(at_ceilings(cuda), gemm));
  }
}

// A rate that was measured on another GPU and scaled is a rule, as wide as the scaled rate and
// more.
TEST(ComputeCost, ProductsOfExpertsRestOnAFitOnlyWhereTheScaledRateWasMeasured) {
  Work work;
  work.gemms = {{64, 500, 1000, 3, Gemm::Dealt::rows}};
  MachineProfile profile = round_profile(DeviceKind::cuda);
  const auto cost = [&] {
    return ProfileCostModel(profile, {}).compute(CostKey{"forward/x"}, work);
  };
  for (ProductPoint& point : profile.gemm) point.rate.source = Source::measured;
  const TaskCost measured = cost();
  EXPECT_EQ(measured.evidence, Evidence::fitted);
  for (ProductPoint& point : profile.gemm) {
    point.rate.source = Source::estimated;
    point.rate.deviation = 0.2 * point.rate.value;
  }
  const TaskCost scaled = cost();
  EXPECT_EQ(scaled.evidence, Evidence::datasheet);
  EXPECT_GT(scaled.relative_deviation, measured.relative_deviation);
  EXPECT_GE(scaled.relative_deviation, 0.2);
  EXPECT_EQ(scaled.amount, measured.amount);
}

TEST(ComputeCost, CalibrationOfItsKeyReplacesTheProfile) {
  const ProfileCostModel costs(round_profile(), one("forward/x", 0.25));
  EXPECT_EQ(costs.compute(CostKey{"forward/x"}, {}).amount, Amount(0.25));
  EXPECT_EQ(costs.compute(CostKey{"forward/x"}, {}).evidence, Evidence::measured);
}

TEST(CopyCost, SamplesOfOtherSizesGiveALine) {
  Calibration samples = one("copy/h2d/1000", 0.002);  // 1 ms + 1 us a byte
  samples.merge(one("copy/h2d/3000", 0.004));
  const ProfileCostModel costs(round_profile(), samples);
  const TaskCost cost = costs.copy(CostKey{"copy/h2d/2000"}, CopyDirection::h2d, Bytes(2000));
  // The profile's link, ten times as fast, is one more observation of little weight.
  EXPECT_NEAR((cost.latency + cost.amount / cost.cap).count(), 0.003, 0.003 * 0.002);
  EXPECT_EQ(cost.evidence, Evidence::fitted);
  const TaskCost other = costs.copy(CostKey{"copy/d2h/2000"}, CopyDirection::d2h, Bytes(2000));
  EXPECT_EQ(other.cap, Rate(10e6));
}

TEST(CopyCost, KeysWithoutSizeNameRates) {
  EXPECT_TRUE(is_rate(CostKey{"copy/h2d"}));
  EXPECT_TRUE(is_rate(CostKey{"update/cpu/t1"}));
  EXPECT_FALSE(is_rate(CostKey{"copy/h2d/4096"}));
  EXPECT_FALSE(is_rate(CostKey{"update/cpu/t1/4096/gbf16"}));
  EXPECT_FALSE(is_rate(CostKey{"forward/block"}));
  // The compute lane's updates have seconds, whether or not their keys name a size.
  EXPECT_FALSE(is_rate(CostKey{"update/device/4096.sint8"}));
  EXPECT_FALSE(is_rate(CostKey{"update/muon|h16.i32"}));
  const ProfileCostModel costs(round_profile(), one("copy/h2d", 5e6));
  EXPECT_EQ(costs.copy(CostKey{"copy/h2d"}, CopyDirection::h2d, Bytes(10)).cap, Rate(5e6));
}

TEST(CopyCost, WeighsItsRateByWhatTheProfileStatesOnCudaMachines) {
  MachineProfile profile = round_profile(DeviceKind::cuda);
  const auto weight = [&](CopyDirection direction) {
    return ProfileCostModel(profile, {}).copy(CostKey{"c"}, direction, Bytes(1)).weight;
  };
  EXPECT_EQ(weight(CopyDirection::h2d), 10e6);
  EXPECT_EQ(weight(CopyDirection::d2h), 20e6);  // writes to host memory come first
  const std::string before = profile_hash(profile);
  profile.h2d_weight = test::measured(0.5);
  profile.d2h_weight = test::measured(3);
  EXPECT_EQ(weight(CopyDirection::h2d), 5e6);
  EXPECT_EQ(weight(CopyDirection::d2h), 30e6);
  EXPECT_NE(profile_hash(profile), before);
}

TEST(CopyCost, HoldsWhatLiesBetweenCopies) {
  MachineProfile profile = round_profile();
  const std::string before = profile_hash(profile);
  const auto latency = [&](const Calibration& calibration, CostSwitches switches = {}) {
    return ProfileCostModel(profile, calibration, switches)
        .copy(CostKey{"c"}, CopyDirection::d2h, Bytes(1))
        .latency.count();
  };
  EXPECT_DOUBLE_EQ(latency({}), 10e-6);
  profile.copy_gap = test::measured(3e-6);
  EXPECT_DOUBLE_EQ(latency({}), 13e-6);
  EXPECT_DOUBLE_EQ(latency({}, {.latency = false}), 0);
  EXPECT_NE(profile_hash(profile), before);
  // A calibrated hand-off of its own direction takes the place of the profile's.
  EXPECT_DOUBLE_EQ(latency(one("hand_off/d2h", 5e-6)), 15e-6);
  EXPECT_DOUBLE_EQ(latency(one("hand_off/h2d", 5e-6)), 13e-6);
}

TEST(UpdateCost, UsesItsThreadsCoresAndWeighsCoresEvenly) {
  const ProfileCostModel costs(round_profile(), {});
  Work work;
  work.parameters = 1000;
  work.threads = 2;
  const TaskCost cost = costs.cpu_update(CostKey{"update/cpu/t2/1000"}, work);
  EXPECT_EQ(cost.cap, Rate(1.8e6));
  EXPECT_NEAR(use_of(cost, "cores") * cost.cap.count(), 2, 1e-12);  // 2 cores while it runs alone
  EXPECT_NEAR(cost.weight * use_of(cost, "cores"), 1, 1e-12);
}

TEST(CostSwitches, EachTurnsItsTermOff) {
  const ProfileCostModel all(round_profile(), {});
  const ProfileCostModel no_contention(round_profile(), {}, {.contention = false});
  EXPECT_EQ(use_of(no_contention.compute(CostKey{"x"}, {}), "cores"), 0);
  EXPECT_EQ(no_contention.links().size(), 2u);
  const ProfileCostModel no_dispatch(round_profile(), {}, {.dispatch = false});
  Work work;
  work.kernels = 100;
  EXPECT_DOUBLE_EQ(all.launch(CostKey{"launch"}, work).amount.count(), 100e-6);
  EXPECT_EQ(no_dispatch.launch(CostKey{"launch"}, work).amount, Amount(0));
  const ProfileCostModel no_latency(round_profile(), {}, {.latency = false});
  EXPECT_EQ(no_latency.copy(CostKey{"c"}, CopyDirection::d2h, Bytes(1)).latency, Seconds(0));
  const ProfileCostModel no_interference(round_profile(), {}, {.interference = false});
  EXPECT_EQ(all.interference().size(), 1u);
  EXPECT_TRUE(no_interference.interference().empty());
}

TEST(Interference, BothDirectionsAtOnceReachTheDuplexRates) {
  MachineProfile profile = round_profile();
  profile.h2d_duplex = test::measured(9e6);
  const ProfileCostModel costs(profile, {});
  ASSERT_EQ(costs.interference().size(), 2u);
  EXPECT_EQ(costs.interference()[1].on, LaneKind::h2d);
  EXPECT_EQ(costs.interference()[1].from, LaneKind::d2h);
  EXPECT_DOUBLE_EQ(costs.interference()[1].factor, 0.9);
}

TEST(CostModelHash, MovesWithEveryNumberAndSwitch) {
  const std::string base = ProfileCostModel(round_profile(), {}).hash();
  MachineProfile other = round_profile();
  scale_by(other.h2d, 2);
  EXPECT_EQ(ProfileCostModel(round_profile(), {}).hash(), base);
  EXPECT_NE(ProfileCostModel(other, {}).hash(), base);
  EXPECT_NE(ProfileCostModel(round_profile(), one("forward/x", 1)).hash(), base);
  EXPECT_NE(ProfileCostModel(round_profile(), {}, {.latency = false}).hash(), base);
}

TEST(Rescaled, SamplesFollowTheFactsBehindThem) {
  Calibration samples = one("copy/h2d/1000", 1);
  samples.merge(one("update/cpu/t1/1000", 1));
  samples.merge(one("forward/block|s", 1));
  MachineProfile changed = round_profile();
  scale_by(changed.h2d, 2);
  for (ProductPoint& point : changed.gemm) scale_by(point.rate, 4);
  const Calibration result = rescaled(samples, round_profile(), changed);
  EXPECT_EQ(result.at(CostKey{"copy/h2d/1000"}).value, 0.5);
  EXPECT_EQ(result.at(CostKey{"update/cpu/t1/1000"}).value, 1);
  EXPECT_EQ(result.at(CostKey{"forward/block|s"}).value, 0.25);
}

TEST(Rescaled, TransfersOfTheDiskFollowTheDisk) {
  Calibration samples = one("copy/disk_read/1000", 1);
  samples.merge(one("copy/disk_write/1000", 1));
  MachineProfile faster = round_profile();
  faster.disk_read = faster.disk_write = test::measured(1e6);
  MachineProfile changed = faster;
  scale_by(changed.disk_read, 2);
  for (ProductPoint& point : changed.gemm) scale_by(point.rate, 4);
  const Calibration result = rescaled(samples, faster, changed);
  EXPECT_EQ(result.at(CostKey{"copy/disk_read/1000"}).value, 0.5);
  EXPECT_EQ(result.at(CostKey{"copy/disk_write/1000"}).value, 1);
}

TEST(Rescaled, LimitedCopiesTakeTheirTimeAndLessOfOtherLanes) {
  Calibration samples = one("copy/d2h/1000", 1);
  samples.merge(one("interference/cpu/d2h/14", 0.8));
  samples.merge(one("interference/cpu/h2d", 0.8));
  samples.merge(one("interference/compute/cpu", 0.9));
  samples.merge(one("launch_delay/h2d", 2e-6));
  samples.merge(one("launch_delay/d2h", 2e-6));
  MachineProfile held = round_profile();
  scale_by(held.d2h, 0.25);
  const Calibration result = rescaled(samples, round_profile(), held);
  EXPECT_DOUBLE_EQ(result.at(CostKey{"copy/d2h/1000"}).value, 4);
  EXPECT_DOUBLE_EQ(result.at(CostKey{"interference/cpu/d2h/14"}).value, 0.95);
  EXPECT_DOUBLE_EQ(result.at(CostKey{"interference/cpu/h2d"}).value, 0.8);
  EXPECT_DOUBLE_EQ(result.at(CostKey{"interference/compute/cpu"}).value, 0.9);
  EXPECT_DOUBLE_EQ(result.at(CostKey{"launch_delay/h2d"}).value, 2e-6);
  EXPECT_DOUBLE_EQ(result.at(CostKey{"launch_delay/d2h"}).value, 0.5e-6);
}

TEST(Interference, StatedByThreadsIsLinearInTheirLogarithm) {
  MachineProfile profile = round_profile();
  profile.interference = {{LaneKind::cpu, LaneKind::h2d, test::measured(0.9), 2},
                          {LaneKind::cpu, LaneKind::h2d, test::measured(0.7), 8},
                          {LaneKind::compute, LaneKind::cpu, test::measured(0.95)}};
  const ProfileCostModel costs(profile, one("interference/cpu/h2d/5", 0.66));
  const auto beside = [&](std::int64_t threads) { return costs.interference(threads)[0].factor; };
  EXPECT_DOUBLE_EQ(beside(1), 0.9);
  EXPECT_DOUBLE_EQ(beside(2), 0.9);
  EXPECT_DOUBLE_EQ(beside(4), 0.8);
  EXPECT_DOUBLE_EQ(beside(16), 0.7);
  EXPECT_DOUBLE_EQ(beside(5), 0.66);  // What a run on as many threads showed.
  EXPECT_DOUBLE_EQ(beside(0), 0.9);   // The mildest factor, on which a bound of all plans rests.
  ASSERT_EQ(costs.interference(4).size(), 2u);  // A pair once.
}

TEST(CostKey, IsWhatTheStepGraphCallsTheSameCost) {
  for (const bool tied : {false, true}) {
    const Job job = test::tiny_job(tied);
    const StepGraph graph =
        build_step_graph(job, uniform_plan(job, {}, 2), ProfileCostModel(round_profile(), {}));
    for (const StepTask& task : graph.tasks) {
      const auto unit = static_cast<std::size_t>(task.unit);
      const bool embed = task.unit == 0;
      if (task.kind == TaskKind::forward) {
        EXPECT_EQ(task.cost,
                  compute_key(job, embed ? Pass::embed_forward : Pass::block_forward, unit));
      } else if (task.kind == TaskKind::backward) {
        EXPECT_EQ(task.cost,
                  compute_key(job, embed ? Pass::embed_backward : Pass::block_backward, unit));
      } else if (task.kind == TaskKind::loss) {
        EXPECT_EQ(task.cost, compute_key(job, Pass::loss, unit));
      } else if (task.kind == TaskKind::recompute) {
        EXPECT_EQ(task.cost, compute_key(job, Pass::block_recompute_input, unit));
      } else if (task.kind == TaskKind::norm) {
        EXPECT_EQ(task.cost, compute_key(job, Pass::norm, unit));
      } else if (task.kind == TaskKind::combine) {
        EXPECT_EQ(task.cost, compute_key(job, Pass::combine, unit));
      } else if (task.kind == TaskKind::load_weights) {
        EXPECT_EQ(task.cost, copy_key(CopyDirection::h2d, task.bytes));
      } else if (task.kind == TaskKind::update) {
        EXPECT_EQ(task.cost, cpu_update_key(job, 1, task.work.parameters));
      }
    }
  }
}

}  // namespace
}  // namespace sluice::planner
