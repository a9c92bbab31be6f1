// Tests of the lasting part of a rate that falls.
#include "profiler/probe/lasting_rate.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::profiler {
namespace {

/// Samples of each rate in the given numbers, every one off by up to `noise` of it, in no order.
Samples stretches(const std::vector<std::pair<int, double>>& parts, double noise = 0.02) {
  Samples samples;
  for (const auto& [count, rate] : parts) {
    for (int i = 0; i < count; ++i) {
      const double wave = std::sin(12.9898 * static_cast<double>(samples.size() + 1));
      samples.push_back(rate * (1 + noise * wave));
    }
  }
  return samples;
}

TEST(LastingRate, IsWhatADriveFallsTo) {
  // A virtual machine's drive as two H200s had it: 2.45 GB/s for a minute, then 1.64.
  const LastingRate found = lasting_rate(stretches({{24, 2.45e9}, {36, 1.64e9}}));
  ASSERT_TRUE(found.first.has_value());
  EXPECT_NEAR(*found.first, 2.45e9, 0.03e9);
  EXPECT_EQ(found.fell_after, 24u);
  EXPECT_EQ(found.lasting.size(), 36u);
  EXPECT_NEAR(median(found.lasting), 1.64e9, 0.03e9);
}

TEST(LastingRate, IsAllOfWhatDoesNotFall) {
  for (const auto& parts : std::vector<std::vector<std::pair<int, double>>>{
           {{60, 2e9}}, {{30, 2e9}, {30, 1.9e9}}, {{30, 1e9}, {30, 2e9}}}) {
    const Samples samples = stretches(parts);
    const LastingRate found = lasting_rate(samples);
    EXPECT_FALSE(found.first.has_value());
    EXPECT_EQ(found.fell_after, 0u);
    EXPECT_EQ(found.lasting, samples);
  }
}

TEST(LastingRate, TakesNoScatterForAFall) {
  EXPECT_FALSE(lasting_rate(stretches({{30, 2e9}, {30, 1.7e9}}, 0.3)).first.has_value());
  // Nor one slow sample, nor a drive that hesitates in between.
  EXPECT_FALSE(lasting_rate(stretches({{58, 2e9}, {2, 0.5e9}})).first.has_value());
  EXPECT_FALSE(lasting_rate(stretches({{28, 2e9}, {4, 0.5e9}, {28, 2e9}})).first.has_value());
}

TEST(LastingRate, NeedsSamplesOnBothSides) {
  EXPECT_FALSE(lasting_rate({}).first.has_value());
  EXPECT_FALSE(lasting_rate({3, 1}).first.has_value());
  EXPECT_TRUE(lasting_rate({3, 3, 3, 1, 1, 1}).first.has_value());
}

}  // namespace
}  // namespace sluice::profiler
