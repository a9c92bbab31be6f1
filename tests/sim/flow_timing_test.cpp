#include <gtest/gtest.h>

#include "sim/frozen_graph.hpp"
#include "tests/sim/system.hpp"

namespace sluice::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(Simulation, AnEmptyGraphTakesNoTime) {
  EXPECT_EQ(simulate(TaskGraph()).makespan, Duration(0));
  EXPECT_EQ(simulate(System({"a"}, {{"link", 1}}, {{"pool", 1}}).graph).makespan, Duration(0));
}

TEST(Simulation, AFixedTimeEndsAfterLatencyAndSeconds) {
  const System system = System({"a"}).fixed("t", "a", 0.004, {}, 5e-6);
  EXPECT_EQ(end_ns(system, simulate(system.graph), "t"), 4'005'000);
}

TEST(Simulation, FractionsOfLatencyAndSecondsAddUpBeforeRounding) {
  const System system = System({"a"}).fixed("t", "a", 0.4e-9, {}, 0.4e-9);
  EXPECT_EQ(end_ns(system, simulate(system.graph), "t"), 1);  // ceil(0.8), not 1 + 1
}

// 0.1 and 1.1e-6 are not binary fractions, and 3 x (1/3) is not 1: none may cost a nanosecond.
TEST(Simulation, WholeNanosecondsAreNotPushedUpByFloatingPoint) {
  System system({"a", "b", "c"}, {{"link", 3}});
  system.fixed("t", "a", 0.1, {}, 1.1e-6);
  system.flow("f", "b", {.amount = 1, .uses = {{"link", 1}}});
  system.flow("g", "c", {.amount = 1.0 / 3, .cap = 1.0 / 3});
  const Timeline timeline = simulate(system.graph);
  EXPECT_EQ(end_ns(system, timeline, "t"), 100'001'100);
  EXPECT_EQ(end_ns(system, timeline, "f"), 333'333'334);
  EXPECT_EQ(end_ns(system, timeline, "g"), kSecond);
}

TEST(Simulation, EndsRoundUpToTheNanosecond) {
  const System system = System({"a"}).fixed("t", "a", 10.25e-9).fixed("u", "a", 10.25e-9);
  EXPECT_EQ(end_ns(system, simulate(system.graph), "u"), 22);  // 11 + 11
}

TEST(Simulation, TwoFlowsShareUntilTheShorterEnds) {
  System system({"a", "b"}, {{"link", 10}});
  system.flow("short", "a", {.amount = 10, .uses = {{"link", 1}}});
  system.flow("long", "b", {.amount = 30, .uses = {{"link", 1}}});
  const Timeline timeline = simulate(system.graph);
  EXPECT_EQ(end_ns(system, timeline, "short"), 2 * kSecond);  // 10 at 5
  EXPECT_EQ(end_ns(system, timeline, "long"), 4 * kSecond);   // 10 at 5, then 20 at 10
  EXPECT_EQ(timeline.link_moved[0], Amount(40));
  EXPECT_EQ(timeline.lane_busy[0], Duration(2 * kSecond));
}

TEST(Simulation, WeightsCapsAndCoefficientsTogether) {
  System system({"a", "b"}, {{"dram", 100}});
  system.flow("copy", "a", {.amount = 40, .cap = 20, .uses = {{"dram", 1}}});
  system.flow("adam", "b", {.amount = 20, .weight = 2, .uses = {{"dram", 8}}});
  const Timeline timeline = simulate(system.graph);
  // Both rise until dram fills: level x (1 + 2 x 8) = 100 at 100/17 < 20, so no cap acts.
  // adam: 20 / (200/17) = 1.7 s; copy has moved 10 by then, the other 30 at its cap of 20.
  EXPECT_EQ(end_ns(system, timeline, "adam"), 1'700'000'000);
  EXPECT_EQ(end_ns(system, timeline, "copy"), 3'200'000'000);
}

TEST(Simulation, LatencyComesFirstAndTakesNoShare) {
  System system({"a", "b"}, {{"link", 10}});
  system.flow("late", "a", {.amount = 10, .uses = {{"link", 1}}}, {}, 1);
  system.flow("early", "b", {.amount = 20, .uses = {{"link", 1}}});
  const Timeline timeline = simulate(system.graph);
  // early: 10 alone in the first second, then both at 5 until both end at 3 s.
  EXPECT_EQ(end_ns(system, timeline, "early"), 3 * kSecond);
  EXPECT_EQ(end_ns(system, timeline, "late"), 3 * kSecond);
}

TEST(Simulation, AZeroAmountEndsAfterItsLatency) {
  System system({"a"}, {{"link", 10}});
  system.flow("nothing", "a", {.amount = 0, .uses = {{"link", 1}}}, {}, 2e-6);
  system.flow("none", "a", {.amount = 0, .cap = 1});
  const Timeline timeline = simulate(system.graph);
  EXPECT_EQ(span_ns(system, timeline, "nothing"), std::pair(0L, 2000L));
  EXPECT_EQ(span_ns(system, timeline, "none"), std::pair(2000L, 2000L));
}

TEST(Interference, SlowsFixedTimesWhileTheOtherRuns) {
  System system({"compute", "h2d"});
  system.interference("compute", "h2d", 0.5);
  system.fixed("gemm", "compute", 3);
  system.flow("load", "h2d", {.amount = 2, .cap = 1});
  const Timeline timeline = simulate(system.graph);
  EXPECT_EQ(end_ns(system, timeline, "load"), 2 * kSecond);
  EXPECT_EQ(end_ns(system, timeline, "gemm"), 4 * kSecond);  // 2 s at half speed, 2 s at full
}

TEST(Interference, StartsPastTheLatency) {
  System system({"compute", "h2d"});
  system.interference("compute", "h2d", 0.5);
  system.fixed("gemm", "compute", 2);
  system.flow("load", "h2d", {.amount = 2, .cap = 1}, {}, 1);
  // 1 s at full speed, then 1 s of work at half speed.
  EXPECT_EQ(end_ns(system, simulate(system.graph), "gemm"), 3 * kSecond);
}

TEST(Interference, SeveralFactorsMultiply) {
  System system({"compute", "h2d", "d2h"});
  system.interference("compute", "h2d", 0.5).interference("compute", "d2h", 0.8);
  system.interference("compute", "d2h", 0.5);
  system.fixed("gemm", "compute", 1);
  system.fixed("load", "h2d", 10).fixed("store", "d2h", 10);
  EXPECT_EQ(end_ns(system, simulate(system.graph), "gemm"), 5 * kSecond);  // 1 / (0.5 0.8 0.5)
}

TEST(Interference, LowersTheCapAndSoLeavesMoreToOthers) {
  System system({"a", "b", "c"}, {{"link", 10}});
  system.interference("a", "c", 0.5);
  system.flow("slowed", "a", {.amount = 4, .cap = 8, .uses = {{"link", 1}}});
  system.flow("other", "b", {.amount = 6, .uses = {{"link", 1}}});
  system.fixed("cause", "c", 10);
  const Timeline timeline = simulate(system.graph);
  EXPECT_EQ(end_ns(system, timeline, "slowed"), kSecond);  // cap 4
  EXPECT_EQ(end_ns(system, timeline, "other"), kSecond);   // the remaining 6
}

TEST(Interference, TouchesOnlyTheNamedLane) {
  System system({"a", "b"});
  system.interference("a", "b", 0.5);
  system.fixed("x", "a", 1).fixed("y", "b", 1);
  const Timeline timeline = simulate(system.graph);
  EXPECT_EQ(end_ns(system, timeline, "y"), kSecond);
  EXPECT_EQ(end_ns(system, timeline, "x"), 1'500'000'000);  // half a second's work is left at 1 s
}

TEST(Interference, AFactorOfZeroStallsUntilTheOtherEnds) {
  System system({"a", "b"});
  system.interference("a", "b", 0);
  system.fixed("x", "a", 1).fixed("y", "b", 2);
  EXPECT_EQ(end_ns(system, simulate(system.graph), "x"), 3 * kSecond);
}

TEST(Simulation, CapacitiesOfAFrozenGraphCanBeChangedBetweenRuns) {
  System system({"a"}, {{"link", 10}});
  system.flow("t", "a", {.amount = 10, .uses = {{"link", 1}}});
  FrozenGraph frozen = freeze(system.graph);
  EXPECT_EQ(simulate(frozen).makespan, Duration(kSecond));
  frozen.set_capacity(LinkId(0), Rate(5));
  EXPECT_EQ(simulate(frozen).makespan, Duration(2 * kSecond));
}

}  // namespace
}  // namespace sluice::sim
