#include <gtest/gtest.h>

#include "profiler/cupti/clock_map.hpp"
#include "tests/profiler/cupti/cupti_records.hpp"

namespace sluice::profiler::cupti::test {
namespace {

TEST(ClockMap, IsALineThroughBothPairs) {
  const ClockMap map({host(1000), at(0)}, {host(3000), at(4000)});
  EXPECT_DOUBLE_EQ(map.rate(), 0.5);
  EXPECT_EQ(map(at(0)), host(1000));
  EXPECT_EQ(map(at(4000)), host(3000));
  EXPECT_EQ(map(at(1000)), host(1500));
  EXPECT_EQ(map(at(-200)), host(900));  // Before the first pair, too.
}

TEST(ClockMap, PairsThatLieCloseTogetherGiveAnOffsetAndNoRate) {
  const ClockMap map({host(0), at(0)}, {host(50), at(10)});
  EXPECT_EQ(map.rate(), 1);
  EXPECT_EQ(map(at(700)), host(700));
}

TEST(ClockMap, KeepsNanosecondsOverHours) {
  const std::int64_t hours = 3'600'000'000LL * 5;
  const ClockMap map({host(0), at(0)}, {host(hours), at(hours)});
  const DeviceInstant odd = at(hours / 3) + std::chrono::nanoseconds(1);
  EXPECT_EQ(map(odd), host(hours / 3) + std::chrono::nanoseconds(1));
}

TEST(ClockPair, HoldsAReadingOfTheDevicesClockBetweenTwoOfTheHosts) {
  int readings = 0;
  const auto before = std::chrono::steady_clock::now();
  const ClockPair pair = clock_pair([&] { return at(++readings); });
  EXPECT_GE(pair.host, before);
  EXPECT_LE(pair.host, std::chrono::steady_clock::now());
  EXPECT_GT(readings, 1);
  EXPECT_GE(pair.device, at(1));
  EXPECT_LE(pair.device, at(readings));
}

}  // namespace
}  // namespace sluice::profiler::cupti::test
