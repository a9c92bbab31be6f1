// The numbers that a step rests on add up to its time and to its interval.
#include "planner/predictions/basis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "planner/costs/cost_key.hpp"
#include "planner/plans/random_plan.hpp"
#include "planner/predictions/narrowing.hpp"
#include "planner/predictions/predict.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::round_machine;
using test::tiny_job;

Seconds half_of(const Prediction& p) { return p.step_high - to_seconds(p.step); }

/// A calibration in which a run measured forward passes over blocks.
Calibration taught(const Job& job, const ResolvedMachine& machine) {
  const CostKey key = compute_key(job, Pass::block_forward, 1);
  return {{key,
           {.profile_hash = machine.calibration_hash,
            .key = key,
            .value = 2e-3,
            .deviation = 1e-4,
            .count = 9,
            .source = "train",
            .time = "2026-01-31T12:00:00Z"}}};
}

TEST(Basis, NumbersSumToTheStepAndToItsInterval) {
  for (const DeviceKind device : {DeviceKind::host, DeviceKind::cuda}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Job job = tiny_job(seed % 2 == 0);
      const ResolvedMachine machine = round_machine(device);
      const Calibration calibration = seed % 3 == 0 ? taught(job, machine) : Calibration{};
      const Prediction p = predict(job, random_plan(job, seed), machine, calibration);
      Seconds time{0};
      double share = 0;
      for (const BasisLine& line : p.basis) {
        time += line.time;
        share += line.variance_share;
        EXPECT_GE(line.variance_share, 0) << line.name;
        EXPECT_GE(line.relative_deviation, 0) << line.name;
      }
      EXPECT_NEAR(time.count(), to_seconds(p.step).count(), 1e-9) << seed;
      EXPECT_NEAR(share, 1, 1e-9) << seed;
      const double half = half_of(p).count();
      EXPECT_NEAR(kInterval90 * combined_deviation(p.basis).count(), half, 1e-9 * half) << seed;
      EXPECT_NEAR(kInterval90 * p.errors.deviation().count(), half, 1e-9 * half) << seed;
    }
  }
}

TEST(Basis, EachNumberNamesItsSourceAndTheWidestStandsFirst) {
  const Job job = tiny_job();
  ResolvedMachine machine = round_machine(DeviceKind::cuda);
  machine.profile.attention_backward = {.value = FlopsPerSecond(1e7),
                                        .deviation = FlopsPerSecond(0.5e7),
                                        .count = 0,
                                        .source = Source::estimated,
                                        .note = "a rule"};
  const Prediction p = predict(job, random_plan(job, 3), machine, {});
  const auto found = std::ranges::find(p.basis, "attention backward", &BasisLine::name);
  ASSERT_NE(found, p.basis.end());
  EXPECT_EQ(found->grounds, Grounds::estimated);
  EXPECT_EQ(found->note, "a rule");
  EXPECT_EQ(found->unit, BasisUnit::flops_per_second);
  EXPECT_NEAR(found->relative_deviation, 0.5, 1e-9);
  EXPECT_TRUE(std::ranges::is_sorted(p.basis, std::greater<>(), &BasisLine::variance_share));
}

TEST(Basis, WhatARunMeasuredIsOneNumberWithItsRuns) {
  const Job job = tiny_job();
  const ResolvedMachine machine = round_machine(DeviceKind::cuda);
  const Prediction p = predict(job, random_plan(job, 3), machine, taught(job, machine));
  const auto found = std::ranges::find(p.basis, "block forward", &BasisLine::name);
  ASSERT_NE(found, p.basis.end());
  EXPECT_EQ(found->grounds, Grounds::measured);
  EXPECT_EQ(found->note, "sluice train, measured 9 times, last 2026-01-31");
  EXPECT_NEAR(found->value, 2e-3, 1e-12);
  EXPECT_TRUE(found->origin.empty());
  EXPECT_EQ(p.knowledge, Knowledge::taught);
}

BasisLine line_of(const char* name, const char* group, double deviation, double relative,
                  Grounds grounds) {
  BasisLine line;
  line.name = name;
  line.group = group;
  line.unit = BasisUnit::bytes_per_second;
  line.relative_deviation = relative;
  line.deviation = Seconds(deviation);
  line.grounds = grounds;
  return line;
}

TEST(Narrowing, NamesTheMeasurementAfterWhichTheIntervalIsNarrowest) {
  // A rule about the CPU at 20 %, and a datasheet's copies at 5 %: 0.2 and 0.05 s.
  const std::vector<BasisLine> basis = {
      line_of("CPU update, 8 threads", "facts of CPU", 0.2, 0.2, Grounds::estimated),
      line_of("copies down", "facts of copies down", 0.05, 0.05, Grounds::datasheet)};
  const auto found = narrowings(basis, Knowledge::full_probe);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].name, "teach");
  EXPECT_NEAR(found[0].half.count(), kInterval90 * std::hypot(0.012, 0.012), 1e-12);
  EXPECT_EQ(found[1].name, "probe");
  EXPECT_NEAR(found[1].half.count(), kInterval90 * std::hypot(0.04, 0.04), 1e-12);
  EXPECT_EQ(found[2].name, "state_host");
  EXPECT_NEAR(found[2].half.count(), kInterval90 * std::hypot(0.1, 0.05), 1e-12);
}

TEST(Narrowing, IsEmptyWhereEverythingIsMeasured) {
  const std::vector basis{line_of("copies down", "x", 0.1, 0.1, Grounds::measured)};
  EXPECT_TRUE(narrowings(basis, Knowledge::taught).empty());
}

TEST(Narrowing, OfACatalogueMachineWhatAnotherMachineMeasuredIsProbed) {
  const std::vector basis{line_of("copies down", "x", 0.1, 0.1, Grounds::fitted)};
  const auto names = [&](Knowledge knowledge) {
    std::vector<std::string> all;
    for (const Narrowing& one : narrowings(basis, knowledge)) all.push_back(one.name);
    return all;
  };
  EXPECT_EQ(names(Knowledge::catalogue), (std::vector<std::string>{"teach", "probe"}));
  EXPECT_EQ(names(Knowledge::quick_probe), (std::vector<std::string>{"teach"}));
}

}  // namespace
}  // namespace sluice::planner
