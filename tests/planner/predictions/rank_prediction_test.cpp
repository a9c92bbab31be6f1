// Predictions of plans of several ranks: what they share, and the fabric between them.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "planner/costs/fabric_rates.hpp"
#include "planner/graph/step_builder.hpp"
#include "planner/machines/profile_file.hpp"
#include "planner/models/slices.hpp"
#include "planner/plans/random_plan.hpp"
#include "planner/predictions/predict.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::measured;

MachineProfile profile_of_gpus() {
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  profile.fabric = Fabric{.latency = measured(1e-4),
                          .gather = {{1e4, measured(1e6)}, {1e6, measured(3e6)}},
                          .exchange = {{1e4, measured(2e6)}}};
  return profile;
}

ResolvedMachine machine_of(const MachineProfile& profile) {
  ResolvedMachine machine = test::round_machine(profile.device);
  machine.profile = profile;
  machine.calibration_hash = profile_hash(profile);
  return machine;
}

Job job_of_four() {
  Job job = test::tiny_job();
  job.batch_size = 8;
  job.groups = 4;
  return job;
}

TEST(Fabric, RatesAreInterpolatedInTheLogarithmOfTheBytes) {
  const Fabric fabric = *profile_of_gpus().fabric;
  EXPECT_EQ(collective_rate(fabric, Collective::gather, Bytes(1)).value.count(), 1e6);
  EXPECT_NEAR(collective_rate(fabric, Collective::gather, Bytes(100'000)).value.count(), 2e6, 1);
  EXPECT_EQ(collective_rate(fabric, Collective::gather, Bytes(10'000'000)).value.count(), 3e6);
  EXPECT_EQ(collective_rate(fabric, Collective::exchange, Bytes(77)).value.count(), 2e6);
  EXPECT_EQ(fastest_collective(fabric).value.count(), 3e6);
}

TEST(Fabric, ACollectiveTakesItsLatencyAndItsBytesAtTheirRate) {
  const ProfileCostModel costs(profile_of_gpus(), {});
  const TaskCost cost = costs.collective(CostKey{"any"}, Collective::exchange, Bytes(4'000'000));
  EXPECT_EQ(cost.latency, Seconds(1e-4));
  EXPECT_EQ(cost.amount / cost.cap, Seconds(2));
}

TEST(Fabric, IsPartOfAProfilesFileAndOfItsHash) {
  const MachineProfile profile = profile_of_gpus();
  const MachineProfile read = profile_from_json(to_json_text(profile), "profile");
  EXPECT_EQ(profile_hash(read), profile_hash(profile));
  MachineProfile without = profile;
  without.fabric.reset();
  EXPECT_NE(profile_hash(without), profile_hash(profile));
  EXPECT_EQ(to_json_text(without).find("fabric"), std::string::npos);
}

TEST(RankPrediction, GpusWithoutAFabricAreRefusedByTheField) {
  const Job job = job_of_four();
  const Predictor predictor(job, test::round_machine(DeviceKind::cuda), {});
  EXPECT_EQ(refusal([&] { (void)predictor.predict(random_plan(job, 1, 2)); }),
            "machine round: fabric: not stated, so its GPUs cannot be timed together: set ranks of "
            "the plan to 1, name a machine with several GPUs, such as 4x-h100-sxm, or add `fabric` "
            "to the profile");
}

TEST(RankPrediction, MoreRanksThanTheMachineHasGpusAreRefused) {
  const Job job = job_of_four();
  MachineProfile profile = profile_of_gpus();
  profile.devices = 2;
  const Predictor predictor(job, machine_of(profile), {});
  EXPECT_GT(predictor.predict(random_plan(job, 1, 2)).prediction.step, Duration{0});
  EXPECT_EQ(
      refusal([&] { (void)predictor.predict(random_plan(job, 1, 4)); }),
      "plan: ranks: 4, and machine round has 2 GPUs: at most so many ranks, or name a machine "
      "with more");
}

TEST(Fabric, WhatGoesOverPcieAndThroughHostMemoryUsesTheirLinks) {
  MachineProfile profile = profile_of_gpus();
  profile.dram = measured(40e6);
  const auto uses = [&](FabricPath path) {
    profile.fabric->path = path;
    const auto cost = ProfileCostModel(profile, {})
                          .collective(CostKey{"any"}, Collective::gather, Bytes(1'000'000));
    return std::map<std::string, double>(cost.uses.begin(), cost.uses.end());
  };
  const std::map<std::string, double> own{{"fabric", 1}};
  const std::map<std::string, double> pcie{{"fabric", 1}, {"pcie_d2h", 1}, {"pcie_h2d", 1}};
  std::map<std::string, double> host = pcie;
  host["dram"] = 2;
  EXPECT_EQ(uses(FabricPath::nvlink), own);
  EXPECT_EQ(uses(FabricPath::pcie), pcie);
  EXPECT_EQ(uses(FabricPath::host), host);
}

TEST(Fabric, SlowsOtherLanesInGraphsOfRanksAlone) {
  const Job job = job_of_four();
  MachineProfile profile = profile_of_gpus();
  profile.fabric->interference = {{LaneKind::compute, LaneKind::fabric, measured(0.5)}};
  const ProfileCostModel costs(profile, {});
  const auto pairs = [&](std::int64_t ranks) {
    Plan plan = uniform_plan(part_of_rank(job, ranks), UnitPlan{}, 1);
    plan.ranks = ranks;
    return write_step_graph(job, plan, costs).graph.interference().size();
  };
  EXPECT_EQ(pairs(2), pairs(1) + 1);
}

TEST(RankPrediction, RandomPlansAreTimedAboveTheirBound) {
  const Job job = job_of_four();
  for (const ResolvedMachine& machine :
       {machine_of(profile_of_gpus()), test::round_machine(DeviceKind::host)}) {
    const Predictor predictor(job, machine, {});
    for (const std::int64_t ranks : {2, 4}) {
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const Prediction p = predictor.predict(random_plan(job, seed, ranks)).prediction;
        EXPECT_GE(to_seconds(p.step), p.bound.time) << seed;
        EXPECT_EQ(p.bound.by, BoundBy::compute);
        EXPECT_EQ(p.busy.back().first, "fabric");
        EXPECT_GT(p.busy.back().second, 0);
      }
    }
  }
}

TEST(RankPrediction, AShareOfHostMemoryIsARanksCapacity) {
  const Job job = job_of_four();
  MachineProfile profile = profile_of_gpus();
  profile.dram = measured(40e6);
  profile.h2d_dram = measured(1);
  const ProfileCostModel costs(profile, {});
  Plan plan = uniform_plan(part_of_rank(job, 4), UnitPlan{}, 1);
  plan.ranks = 4;
  const StepGraph graph = write_step_graph(job, plan, costs);
  std::map<std::string, double> capacities;
  for (const sim::Link& link : graph.graph.links()) {
    capacities[link.name] = link.capacity.count();
  }
  EXPECT_EQ(capacities.at("dram"), 10e6);
  EXPECT_EQ(capacities.at("pcie_h2d"), 10e6);
  EXPECT_EQ(capacities.at("fabric"), 3e6);
}

TEST(RankPrediction, MemoryIsThatOfOneGpuAndOfAllRanksOnTheHost) {
  const Job job = job_of_four();
  const ResolvedMachine machine = machine_of(profile_of_gpus());
  const Predictor predictor(job, machine, {});
  Plan plan = uniform_plan(part_of_rank(job, 4), UnitPlan{}, 1);
  plan.ranks = 4;
  const PredictedStep step = predictor.predict(plan);
  const Memory& memory = step.prediction.memory;
  EXPECT_EQ(at(memory, Tier::host).peak,
            step.graph.layout.host_bytes * 4 + process_bytes(DeviceKind::cuda));
  for (const TierMemory& tier : memory) {
    Bytes sum{0};
    for (const auto& [part, bytes] : tier.parts) sum += bytes;
    EXPECT_EQ(sum, tier.peak);
  }
}

}  // namespace
}  // namespace sluice::planner
