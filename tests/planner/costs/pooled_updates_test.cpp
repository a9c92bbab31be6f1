#include "planner/costs/pooled_updates.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "planner/costs/cost_key.hpp"
#include "planner/costs/profile_rates.hpp"
#include "tests/planner/round_machine.hpp"

namespace sluice::planner {
namespace {

/// A profile of sixteen cores with 0.5 G parameters/s each, whose deviation between repetitions is
/// `relative`.
MachineProfile probed(double relative) {
  MachineProfile profile = test::round_profile(DeviceKind::cuda);
  profile.update.clear();
  for (const std::int64_t threads : {4, 8, 14, 16}) {
    Fact rate;
    rate.value = 5e8 * static_cast<double>(threads);
    rate.deviation = relative * rate.value;
    rate.count = 2;
    rate.source = Source::measured;
    profile.update[threads] = rate;
  }
  return profile;
}

CostKey key_of(std::int64_t threads, std::int64_t size) {
  return CostKey{"update/cpu/t" + std::to_string(threads) + "/" + std::to_string(size)};
}

/// Adds an update of `size` that took exp(`level`) times the probe's time.
void measure(Calibration& calibration, const MachineProfile& profile, std::int64_t threads,
             double level, std::int64_t size = 200'000'000) {
  CalibrationSample sample;
  sample.key = key_of(threads, size);
  sample.value = std::exp(level) * static_cast<double>(size) / update_rate(profile, threads).value;
  sample.deviation = 0.01 * sample.value;
  calibration[sample.key] = sample;
}

double level_of(const Calibration& calibration, const MachineProfile& profile, std::int64_t threads,
                std::int64_t size = 200'000'000) {
  const double stated = static_cast<double>(size) / update_rate(profile, threads).value;
  return std::log(calibration.at(key_of(threads, size)).value / stated);
}

TEST(PooledUpdates, ARunThatIsFarFromTheOthersComesNearer) {
  const MachineProfile profile = probed(0.04);
  Calibration calibration;
  measure(calibration, profile, 4, 0.02);
  measure(calibration, profile, 8, -0.25);
  measure(calibration, profile, 14, -0.02);
  const Calibration pooled = with_pooled_updates(profile, calibration);
  const double level = level_of(pooled, profile, 8);
  EXPECT_GT(level, -0.2);
  EXPECT_LT(level, -0.08) << "a number of threads keeps some of its own";
  EXPECT_NEAR(level_of(pooled, profile, 4), 0.02, 0.08);
  EXPECT_DOUBLE_EQ(pooled.at(key_of(8, 200'000'000)).deviation,
                   0.01 * pooled.at(key_of(8, 200'000'000)).value);
}

/// A probe that measured one number of threads while others used the host tells little of runs with
/// that number.
TEST(PooledUpdates, WhereTheProbeIsUnsureRunsKeepTheirWord) {
  MachineProfile profile = probed(0.04);
  profile.update[8].deviation = 0.4 * profile.update[8].value;
  Calibration calibration;
  measure(calibration, profile, 4, 0);
  measure(calibration, profile, 8, -0.25);
  measure(calibration, profile, 14, 0);
  const Calibration pooled = with_pooled_updates(profile, calibration);
  EXPECT_LT(level_of(pooled, profile, 8), -0.1);
  EXPECT_NEAR(level_of(pooled, profile, 14), 0, 0.03);
}

TEST(PooledUpdates, SizesOfOneNumberKeepTheirRatio) {
  const MachineProfile profile = probed(0.04);
  Calibration calibration;
  measure(calibration, profile, 4, 0.1);
  measure(calibration, profile, 8, -0.2);
  measure(calibration, profile, 8, -0.1, 50'000'000);
  const Calibration pooled = with_pooled_updates(profile, calibration);
  EXPECT_NEAR(level_of(pooled, profile, 8, 50'000'000) - level_of(pooled, profile, 8), 0.1, 1e-12);
}

TEST(PooledUpdates, WhatMoreRunsSayIsKeptMore) {
  const MachineProfile profile = probed(0.04);
  Calibration few, many;
  for (Calibration* calibration : {&few, &many}) {
    measure(*calibration, profile, 4, 0);
    measure(*calibration, profile, 8, -0.2);
  }
  for (const std::int64_t size : {150'000'000, 250'000'000, 350'000'000}) {
    measure(many, profile, 8, -0.2, size);
  }
  EXPECT_LT(level_of(with_pooled_updates(profile, many), profile, 8),
            level_of(with_pooled_updates(profile, few), profile, 8) - 0.02);
}

TEST(PooledUpdates, AllCoresStandForThemselves) {
  const MachineProfile profile = probed(0.04);
  Calibration calibration;
  measure(calibration, profile, 4, 0.1);
  measure(calibration, profile, 16, 0.5);
  const Calibration pooled = with_pooled_updates(profile, calibration);
  EXPECT_DOUBLE_EQ(level_of(pooled, profile, 16), 0.5);
  measure(calibration, profile, 16, -0.5);
  EXPECT_DOUBLE_EQ(level_of(with_pooled_updates(profile, calibration), profile, 4),
                   level_of(pooled, profile, 4));
}

TEST(PooledUpdates, AProbeThatIsFarOffIsNotBelieved) {
  const MachineProfile profile = probed(0.04);
  Calibration calibration;
  for (const std::int64_t threads : {4, 8, 14}) measure(calibration, profile, threads, 0.7);
  const Calibration pooled = with_pooled_updates(profile, calibration);
  for (const std::int64_t threads : {4, 8, 14}) {
    EXPECT_NEAR(level_of(pooled, profile, threads), 0.7, 0.01);
  }
}

TEST(PooledUpdates, WhereRoundsAgreeOrNobodyMeasuredNothingChanges) {
  Calibration calibration;
  MachineProfile profile = probed(0);
  measure(calibration, profile, 4, 0.1);
  measure(calibration, profile, 8, -0.3);
  EXPECT_EQ(with_pooled_updates(profile, calibration), calibration);
  profile = probed(0.04);
  for (auto& [threads, rate] : profile.update) rate.source = Source::datasheet;
  EXPECT_EQ(with_pooled_updates(profile, calibration), calibration);
  EXPECT_TRUE(with_pooled_updates(probed(0.04), {}).empty());
}

}  // namespace
}  // namespace sluice::planner
