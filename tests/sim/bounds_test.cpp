#include <gtest/gtest.h>

#include "tests/sim/system.hpp"

namespace sluice::sim {
namespace {

System streaming() {
  System system({"h2d", "compute"}, {{"pcie", 50}, {"dram", 100}});
  for (const char* id : {"l0", "l1"}) {
    system.flow(id, "h2d", {.amount = 100, .cap = 40, .uses = {{"pcie", 1}, {"dram", 4}}}, {}, 1);
  }
  system.fixed("c0", "compute", 2, {"l0"}).fixed("c1", "compute", 2, {"l1"});
  return system;
}

TEST(Bounds, ChainIsTheLongestPathAtUncontendedRates) {
  // A load alone: 1 s, then 100 at min(40, 50 / 1, 100 / 4) = 25: 5 s in all; then 2 s.
  EXPECT_EQ(bounds(streaming().graph).chain, Seconds(7));
}

TEST(Bounds, LaneIsTheBusiestLanesUncontendedTime) {
  const Bounds found = bounds(streaming().graph);
  EXPECT_EQ(found.lane, Seconds(10));
  EXPECT_EQ(found.busiest_lane, LaneId(0));
}

TEST(Bounds, LinkIsWhatTheBusiestLinkMustMoveAtFullRate) {
  const Bounds found = bounds(streaming().graph);
  EXPECT_EQ(found.link, Seconds(8));  // 2 x 100 x 4 / 100
  EXPECT_EQ(found.busiest_link, LinkId(1));
  EXPECT_EQ(found.bound(), Seconds(10));
}

TEST(Bounds, OfAnEmptyGraphAreZeroAndNameNothing) {
  const Bounds found = bounds(TaskGraph());
  EXPECT_EQ(found.bound(), Seconds(0));
  EXPECT_FALSE(found.busiest_lane || found.busiest_link);
}

TEST(Bounds, FloatingPointSumsDoNotPassTheMakespan) {
  System system({"a"});
  for (const char* id : {"x", "y", "z"}) system.fixed(id, "a", 0.1);
  // 0.1 + 0.1 + 0.1 > 0.3 in binary.
  EXPECT_LE(bounds(system.graph).bound(), to_seconds(simulate(system.graph).makespan));
}

TEST(Bounds, AllowForInterferenceThatSpeedsUp) {
  System system({"a", "b"});
  system.interference("a", "b", 2);
  system.fixed("x", "a", 2).fixed("y", "b", 2);
  EXPECT_EQ(simulate(system.graph).makespan, Duration(2'000'000'000));
  EXPECT_EQ(bounds(system.graph).bound(), Seconds(2));
}

}  // namespace
}  // namespace sluice::sim
