// Passes that a probe measured, as costs of jobs.
#include "planner/costs/probed_passes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "planner/catalogue/catalogue.hpp"
#include "planner/costs/cost_key.hpp"
#include "planner/costs/cost_model.hpp"
#include "planner/costs/device_updates.hpp"
#include "planner/costs/rescaled_passes.hpp"
#include "planner/costs/sibling_costs.hpp"
#include "planner/machines/profile_file.hpp"
#include "tests/planner/round_machine.hpp"

namespace sluice::planner {
namespace {

Job job_of(const char* model, std::int64_t length = 1024) {
  Job job;
  job.model = find_model(model);
  job.seq_len = length;
  job.micro_batch = job.batch_size = 4096 / length;
  return job;
}

double profile_time(const MachineProfile& profile, const Job& job, Pass pass) {
  return ProfileCostModel(profile, {})
      .compute(compute_key(job, pass, 1), work_of(job, pass, 1))
      .amount.count();
}

/// Adds the forward pass of `job` over a block, which took `ratio` times the profile's time.
void probe(MachineProfile& profile, const Job& job, double ratio) {
  profile.passes.push_back(
      {.key = compute_key(job, Pass::block_forward, 1).name(),
       .time = Seconds(ratio * profile_time(profile, job, Pass::block_forward))});
}

const CalibrationSample& forward_of(const Calibration& calibration, const Job& job) {
  return calibration.at(compute_key(job, Pass::block_forward, 1));
}

double ratio_of(const MachineProfile& profile, const Calibration& calibration, const Job& job) {
  return forward_of(with_siblings(job, profile, calibration), job).value /
         profile_time(profile, job, Pass::block_forward);
}

CalibrationSample run_sample(const MachineProfile& profile, const Job& job, double ratio) {
  CalibrationSample sample;
  sample.key = compute_key(job, Pass::block_forward, 1);
  sample.value = ratio * profile_time(profile, job, Pass::block_forward);
  sample.source = "train";
  return sample;
}

TEST(PassesByKey, AKeyNamesItsPassAndJob) {
  const Job job = job_of("qwen2.5-0.5b");
  const std::size_t head = unit_count(job.model) - 1;
  for (const auto& [pass, unit] :
       {std::pair{Pass::embed_forward, std::size_t{0}},
        std::pair{Pass::block_forward, std::size_t{1}},
        std::pair{Pass::block_recompute_input, std::size_t{1}},
        std::pair{Pass::block_recompute_selective, std::size_t{1}},
        std::pair{Pass::block_backward, std::size_t{1}}, std::pair{Pass::loss, head},
        std::pair{Pass::embed_backward, std::size_t{0}}, std::pair{Pass::combine, std::size_t{0}},
        std::pair{Pass::norm, std::size_t{0}}, std::pair{Pass::norm, std::size_t{1}},
        std::pair{Pass::norm, head}}) {
    const CostKey key = compute_key(job, pass, unit);
    const auto probed = probed_pass(key);
    ASSERT_TRUE(probed.has_value()) << key.name();
    EXPECT_EQ(probed->pass, pass);
    EXPECT_EQ(unit_at(probed->job.model, probed->unit).kind, unit_at(job.model, unit).kind);
    EXPECT_EQ(probed->job.model.kv_heads, job.model.kv_heads);
    EXPECT_EQ(probed->job.micro_batch, job.micro_batch);
  }
}

TEST(PassesByKey, WhatProbesDoNotRunIsNoPassOfTheirs) {
  Job job = job_of("qwen2.5-0.5b");
  EXPECT_FALSE(probed_pass(device_update_key(job, 4096)).has_value());
  EXPECT_FALSE(probed_pass(compute_key(job, Pass::block_forward, 1, 2)).has_value());
  job.gradient_wire = GradientWire::bf16;
  EXPECT_FALSE(probed_pass(compute_key(job, Pass::norm, 1)).has_value());
  EXPECT_FALSE(
      probed_pass(compute_key(job_of("qwen3-30b-a3b"), Pass::block_forward, 1)).has_value());
}

TEST(ProbedPasses, AJobOfTheSameKeyTakesTheMeasuredTime) {
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  const Job job = job_of("qwen2.5-0.5b");
  probe(profile, job, 1.5);
  probe(profile, job_of("qwen2.5-1.5b"), 3);
  EXPECT_NEAR(ratio_of(profile, {}, job), 1.5, 1e-9);
  const ProfileCostModel costs(profile, with_siblings(job, profile, {}));
  const TaskCost cost =
      costs.compute(compute_key(job, Pass::block_forward, 1), work_of(job, Pass::block_forward, 1));
  EXPECT_EQ(cost.evidence, Evidence::measured);
  // Its measurements did not differ: what is left is the difference between minutes.
  EXPECT_NEAR(cost.relative_deviation, kProbeDeviation, 1e-12);
}

TEST(ProbedPasses, MeasurementsThatDifferAreLessSure) {
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  profile.passes = {
      {.key = "update/device/4096", .time = Seconds(1), .deviation = Seconds(0.08), .count = 4}};
  const CalibrationSample sample = probed_passes(profile).begin()->second;
  EXPECT_NEAR(sample.deviation, std::hypot(0.04, kProbeDeviation), 1e-12);
  EXPECT_EQ(sample.count, 1);
}

TEST(ProbedPasses, WhatARunMeasuredComesBeforeThem) {
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  const Job job = job_of("qwen2.5-0.5b");
  probe(profile, job, 1.5);
  const CalibrationSample run = run_sample(profile, job, 1.2);
  const Calibration all = with_siblings(job, profile, {{run.key, run}});
  EXPECT_EQ(forward_of(all, job), run);
  // The same pass at another length follows the run, too.
  EXPECT_NEAR(ratio_of(profile, {{run.key, run}}, job_of("qwen2.5-0.5b", 2048)), 1.2, 0.01);
}

TEST(ProbedPasses, BesideRunsTheProbesOwnTimeIsCorrectedByWhatTheyTell) {
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  const Job own = job_of("qwen2.5-0.5b"), other = job_of("qwen2.5-0.5b", 2048);
  probe(profile, own, 1.5);
  probe(profile, other, 1.5);
  // Its minute was a slow one: a run took 4 % less than the probe had said of the same pass.
  const CalibrationSample run = run_sample(profile, job_of("qwen2.5-0.5b", 4096), 1.44);
  const double ratio = ratio_of(profile, {{run.key, run}}, own);
  EXPECT_LT(ratio, 1.495);
  EXPECT_GT(ratio, 1.44);
}

TEST(ProbedPasses, OtherJobsFollowTheNearest) {
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  probe(profile, job_of("qwen2.5-0.5b"), 2);
  probe(profile, job_of("qwen2.5-7b"), 1);
  EXPECT_GT(ratio_of(profile, {}, job_of("qwen2.5-0.5b", 512)), 1.7);
  EXPECT_LT(ratio_of(profile, {}, job_of("llama-3.1-8b")), 1.3);
}

TEST(ProbedPasses, JobsWithBf16GradientsFollowThemToo) {
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  Job job = job_of("qwen2.5-0.5b");
  probe(profile, job, 1.5);
  job.gradient_wire = GradientWire::bf16;
  EXPECT_NEAR(ratio_of(profile, {}, job), 1.5, 1e-9);
  job.compute = ComputeType::fp32;
  EXPECT_TRUE(with_siblings(job, profile, {}).empty());
}

TEST(ProbedPasses, ManyErrLessThanOneButTheirMinuteStays) {
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  for (const std::int64_t length : {512, 1024, 2048, 4096}) {
    probe(profile, job_of("qwen2.5-0.5b", length), 1.1);
  }
  const Job job = job_of("qwen2.5-1.5b");
  const CalibrationSample sample = forward_of(with_siblings(job, profile, {}), job);
  EXPECT_GT(sample.deviation / sample.value, kProbeDeviation);
}

TEST(DeviceUpdates, OfOtherSizesLieOnALineThroughThoseMeasured) {
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  const Job job = job_of("qwen2.5-1.5b");
  constexpr double rate = 100e9, kFixed = 40e-6;
  profile.device_update = test::measured(rate);
  for (const double size : {15e6, 230e6}) {
    const CostKey key = device_update_key(job, static_cast<std::int64_t>(size));
    profile.passes.push_back({.key = key.name(), .time = Seconds(kFixed + size / rate)});
  }
  const std::int64_t block = unit_padded_size(job.model, 1);
  const Calibration all = with_device_updates(job, profile, {});
  const double expected = kFixed + static_cast<double>(block) / rate;
  EXPECT_NEAR(all.at(device_update_key(job, block)).value, expected, 0.02 * expected);
  EXPECT_GT(expected, 1.08 * static_cast<double>(block) / rate) << "the rate alone says less";
  // What a run measured stays.
  CalibrationSample run;
  run.key = device_update_key(job, block);
  run.value = 7;
  EXPECT_EQ(with_device_updates(job, profile, {{run.key, run}}).at(run.key), run);
  // A profile without such passes leaves updates to its rate.
  profile.passes.clear();
  EXPECT_TRUE(with_device_updates(job, profile, {}).empty());
}

TEST(RescaledPasses, ChangeAsTheProfilesTimesDo) {
  MachineProfile measured = test::round_profile(DeviceKind::cuda);
  const Job job = job_of("qwen2.5-0.5b");
  probe(measured, job, 1.5);
  measured.passes.push_back({.key = "update/device/4096", .time = Seconds(1)});
  measured.passes.push_back({.key = "unknown", .time = Seconds(1)});
  EXPECT_EQ(rescaled_passes(measured, measured), measured.passes);
  MachineProfile changed = measured;
  set_fact(changed, "gemm", "2x");
  set_fact(changed, "device_update", "0.5x");
  const std::vector<MeasuredPass> rescaled = rescaled_passes(measured, changed);
  EXPECT_NEAR(rescaled[0].time.count(), 1.5 * profile_time(changed, job, Pass::block_forward),
              1e-12);
  EXPECT_LT(rescaled[0].time, measured.passes[0].time);
  EXPECT_GT(rescaled[1].time, 1.9 * measured.passes[1].time);
  EXPECT_EQ(rescaled[2], measured.passes[2]);
}

}  // namespace
}  // namespace sluice::planner
