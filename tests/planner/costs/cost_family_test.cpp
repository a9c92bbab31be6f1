#include "planner/costs/cost_family.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

namespace sluice::planner {
namespace {

Calibration updates(std::initializer_list<std::pair<double, double>> sized_seconds) {
  Calibration calibration;
  for (const auto& [size, seconds] : sized_seconds) {
    CalibrationSample sample;
    sample.key = CostKey{"update/cpu/t14/" + std::to_string(static_cast<std::int64_t>(size))};
    sample.value = seconds;
    sample.count = 4;
    calibration[sample.key] = sample;
  }
  return calibration;
}

constexpr FamilyRate kUnstated{0, 0};
constexpr FamilyRate kStated{5e9, 0.08};

std::optional<SizedTime> found(const Calibration& calibration, std::int64_t size,
                               const FamilyRate& stated) {
  return from_family(calibration, CostKey{"update/cpu/t14/" + std::to_string(size)}, stated);
}

double seconds_of(const Calibration& calibration, std::int64_t size,
                  const FamilyRate& stated = kUnstated) {
  const auto time = found(calibration, size, stated);
  return time ? time->seconds : -1;
}

TEST(CostFamily, IsAFixedTimeAndOneInProportion) {
  const Calibration line = updates({{1e3, 7e-6 + 1e3 / 5e9},
                                    {4e7, 7e-6 + 4e7 / 5e9},
                                    {2e8, 7e-6 + 2e8 / 5e9},
                                    {5e8, 7e-6 + 5e8 / 5e9}});
  for (const double size : {500.0, 1e5, 1.5e7, 1e9}) {
    EXPECT_NEAR(seconds_of(line, static_cast<std::int64_t>(size)) / (7e-6 + size / 5e9), 1, 1e-6);
  }
}

/// Samples of a study on an H200's host, of which the largest was inferred beside a full memory. A
/// line fitted in seconds would make small updates far too fast.
TEST(CostFamily, ALargeSampleThatIsOffDoesNotRuleSmallSizes) {
  const Calibration seen = updates({{896, 3.2e-5},
                                    {1536, 6.3e-6},
                                    {46797824, 8.84e-3},
                                    {77076992, 1.442e-2},
                                    {218112000, 4.309e-2},
                                    {525336576, 0.1018},
                                    {525340672, 0.1314}});
  EXPECT_NEAR(14912384 / seconds_of(seen, 14912384), 5.3e9, 0.3e9);
  EXPECT_NEAR(233057792 / seconds_of(seen, 233057792), 5.2e9, 0.3e9);
}

/// With a single sample of 20 us for the 896 parameters of a norm, large updates follow the
/// profile's rate and not that sample in proportion.
TEST(CostFamily, AllButFixedTimesSayNothingOfLargeSizes) {
  const Calibration norm = updates({{896, 2e-5}});
  const auto large = found(norm, 233'057'792, kStated);
  ASSERT_TRUE(large);
  EXPECT_NEAR(large->seconds / (2e-5 + 233'057'792 / 5e9), 1, 0.01);
  EXPECT_NEAR(large->relative_deviation, std::hypot(0.02, 0.08), 0.005);
  EXPECT_NEAR(seconds_of(norm, 896, kStated) / 2e-5, 1, 0.01);
  const auto small = found(norm, 1792, kStated);
  ASSERT_TRUE(small);
  EXPECT_NEAR(small->seconds, 2e-5, 1e-6);
  EXPECT_LT(small->relative_deviation, 0.025);
}

TEST(CostFamily, OneLargeSampleOutweighsWhatIsStated) {
  for (const double slower : {0.5, 0.9, 1.1, 2.0}) {
    const Calibration one = updates({{46'797'824, slower * 46'797'824 / 5e9}});
    EXPECT_NEAR(seconds_of(one, 233'057'792, kStated) / (slower * 233'057'792 / 5e9), 1, 0.01)
        << slower;
    EXPECT_NEAR(found(one, 233'057'792, kStated)->relative_deviation, 0.02, 0.005) << slower;
  }
}

TEST(CostFamily, ManySamplesOutweighWhatIsStatedMore) {
  const Calibration line = updates({{1e3, 7e-6 + 1e3 / 3e9},
                                    {4e7, 7e-6 + 4e7 / 3e9},
                                    {2e8, 7e-6 + 2e8 / 3e9},
                                    {5e8, 7e-6 + 5e8 / 3e9}});
  for (const double size : {500.0, 1e5, 1.5e7, 1e9}) {
    const double seconds = seconds_of(line, static_cast<std::int64_t>(size), kStated);
    EXPECT_NEAR(seconds / (7e-6 + size / 3e9), 1, 0.002) << size;
  }
}

TEST(CostFamily, WhatShortTasksDifferByDoesNotMakeLongOnesUnsure) {
  Calibration seen = updates({{1536, 8e-6}, {46797824, 9e-3}, {77076992, 15e-3}});
  const double sure = found(seen, 218112000, kUnstated)->relative_deviation;
  seen.begin()->second.deviation = 8e-6;  // Relative deviation of four measurements: 50 %.
  EXPECT_NEAR(found(seen, 218112000, kUnstated)->relative_deviation, sure, 0.01);
  EXPECT_NEAR(found(seen, 1000, kUnstated)->relative_deviation, 0.5, 0.05);
  for (auto& [key, sample] : seen) sample.deviation = 0.2 * sample.value;  // 10 % each.
  EXPECT_GT(found(seen, 218112000, kUnstated)->relative_deviation, std::max(sure, 0.05));
}

TEST(CostFamily, NeitherNumberIsNegative) {
  // Larger and yet quicker by the unit: a line through both would be below zero for small sizes.
  const Calibration convex = updates({{1e6, 1e-3}, {2e6, 4e-3}});
  EXPECT_GT(seconds_of(convex, 1000), 0);
  EXPECT_NEAR(seconds_of(convex, 2000) / seconds_of(convex, 1000), 2, 1e-9);
  const Calibration falling = updates({{1e6, 2e-3}, {2e6, 1e-3}});
  EXPECT_GT(seconds_of(falling, 4'000'000), 0);
}

TEST(CostFamily, OneSampleIsInProportionAndNoneIsNothing) {
  EXPECT_NEAR(seconds_of(updates({{1e6, 1e-3}}), 3'000'000), 3e-3, 1e-12);
  EXPECT_FALSE(found({}, 7, kStated));
  EXPECT_FALSE(from_family(updates({{1e6, 1e-3}}), CostKey{"update/cpu/t4/1000000"}, kStated));
}

}  // namespace
}  // namespace sluice::planner
