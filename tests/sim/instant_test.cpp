// Order at one instant, lanes, pools, and what enabled each start.
#include <gtest/gtest.h>

#include "tests/sim/system.hpp"

namespace sluice::sim {
namespace {

std::vector<std::string> path_of(const System& system, const Timeline& timeline) {
  std::vector<std::string> ids;
  for (const TaskId task : critical_path(system.graph, timeline)) ids.push_back(system.id(task));
  return ids;
}
using Ids = std::vector<std::string>;

TEST(Lane, RunsItsTasksOneAtATimeInFileOrder) {
  System system({"a", "b"});
  system.fixed("slow", "b", 5e-9);
  system.fixed("first", "a", 1e-9, {"slow"});  // waits, and everything behind it waits too
  system.fixed("second", "a", 1e-9);
  const Timeline timeline = simulate(system.graph);
  EXPECT_EQ(span_ns(system, timeline, "first"), std::pair(5L, 6L));
  EXPECT_EQ(span_ns(system, timeline, "second"), std::pair(6L, 7L));
}

TEST(Instant, TasksMayFollowTasksThatComeLaterInTheFile) {
  System system({"a", "b"});
  system.fixed("last", "a", 1e-9).fixed("first", "b", 2e-9);
  system.graph.mutable_tasks()[0].after.push_back(system.task("first"));
  EXPECT_EQ(span_ns(system, simulate(system.graph), "last"), std::pair(2L, 3L));
}

TEST(Instant, AChainOfTasksWithoutLengthRunsAtOneInstant) {
  System system({"a", "b"});
  system.fixed("t", "a", 3e-9).fixed("x", "b", 0, {"t"}).fixed("y", "a", 0, {"x"});
  system.fixed("z", "b", 0, {"y"});
  const Timeline timeline = simulate(system.graph);
  EXPECT_EQ(span_ns(system, timeline, "z"), std::pair(3L, 3L));
  EXPECT_EQ(path_of(system, timeline), (Ids{"t"}));  // the first of those that end last
}

TEST(Instant, ReleasesComeBeforeStartsAndFileOrderDecidesWhoStarts) {
  System system({"a", "b", "c"}, {}, {{"slots", 1}});
  system.fixed("holder", "a", 2e-9).acquire("slots", 1).release("slots", 1);
  system.fixed("early", "c", 1e-9).acquire("slots", 1).release("slots", 1);
  system.fixed("late", "b", 1e-9).acquire("slots", 1).release("slots", 1);
  const Timeline timeline = simulate(system.graph);
  EXPECT_EQ(span_ns(system, timeline, "early"), std::pair(2L, 3L));
  EXPECT_EQ(span_ns(system, timeline, "late"), std::pair(3L, 4L));
  EXPECT_EQ(timeline.pool_peak[0], Amount(1));
  EXPECT_EQ(path_of(system, timeline), (Ids{"late", "early", "holder"}));  // through the pool
}

TEST(Instant, AllEndsOfAnInstantComeBeforeItsStarts) {
  System system({"a", "b", "c"}, {}, {{"slots", 1}});
  system.fixed("x", "a", 2e-9);
  system.fixed("y", "b", 2e-9);
  // Ready at 2 ns through x and through y: the first in the file takes the slot.
  system.fixed("wins", "b", 1e-9, {"y"}).acquire("slots", 1).release("slots", 1);
  system.fixed("waits", "a", 1e-9, {"x"}).acquire("slots", 1).release("slots", 1);
  const Timeline timeline = simulate(system.graph);
  EXPECT_EQ(span_ns(system, timeline, "wins"), std::pair(2L, 3L));
  EXPECT_EQ(span_ns(system, timeline, "waits"), std::pair(3L, 4L));
}

TEST(Pool, DoubleBufferingHoldsTheThirdLoadBack) {
  System system({"h2d", "compute"}, {}, {{"buffers", 2}});
  for (const char* id : {"l0", "l1", "l2"}) {
    system.fixed(id, "h2d", 1e-9).acquire("buffers", 1);
  }
  system.fixed("c0", "compute", 5e-9, {"l0"}).release("buffers", 1);
  system.fixed("c1", "compute", 5e-9, {"l1"}).release("buffers", 1);
  system.fixed("c2", "compute", 5e-9, {"l2"}).release("buffers", 1);
  const Timeline timeline = simulate(system.graph);
  EXPECT_EQ(span_ns(system, timeline, "l2"), std::pair(6L, 7L));  // c0 ends at 6
  EXPECT_EQ(timeline.pool_peak[0], Amount(2));
  EXPECT_EQ(end_ns(system, timeline, "c2"), 16);
}

TEST(Pool, AStartTakesAllItsPoolsOrNone) {
  System system({"a", "b", "c"}, {}, {{"p", 1}, {"q", 1}});
  system.fixed("q-holder", "a", 4e-9).acquire("q", 1).release("q", 1);
  system.fixed("both", "b", 1e-9).acquire("p", 1).acquire("q", 1).release("p", 1).release("q", 1);
  system.fixed("p-only", "c", 1e-9).acquire("p", 1).release("p", 1);
  const Timeline timeline = simulate(system.graph);
  EXPECT_EQ(span_ns(system, timeline, "p-only"), std::pair(0L, 1L));
  EXPECT_EQ(span_ns(system, timeline, "both"), std::pair(4L, 5L));
}

TEST(Pool, FractionsThatAddUpToTheCapacityFit) {
  System system({"a", "b", "c"}, {}, {{"p", 0.3}});
  for (const auto& [id, lane] : {std::pair("x", "a"), std::pair("y", "b"), std::pair("z", "c")}) {
    system.fixed(id, lane, 1e-9).acquire("p", 0.1).release("p", 0.1);
  }
  EXPECT_EQ(simulate(system.graph).makespan, Duration(1));  // 0.1 + 0.1 + 0.1 > 0.3 in binary
}

TEST(CriticalPath, GoesThroughPredecessorLaneAndPool) {
  System system({"h2d", "compute"}, {}, {{"buffers", 1}});
  system.fixed("l0", "h2d", 1e-9).acquire("buffers", 1);
  system.fixed("l1", "h2d", 1e-9).acquire("buffers", 1);
  system.fixed("c0", "compute", 5e-9, {"l0"}).release("buffers", 1);
  system.fixed("c1", "compute", 5e-9, {"l1"}).release("buffers", 1);
  system.fixed("end", "compute", 1e-9);
  const Timeline timeline = simulate(system.graph);
  EXPECT_EQ(path_of(system, timeline), (Ids{"end", "c1", "l1", "c0", "l0"}));
}

TEST(Timeline, PeriodIsFromEndToEnd) {
  System system({"a"});
  system.fixed("x", "a", 3e-9).fixed("y", "a", 4e-9);
  system.graph.set_period({system.task("x"), system.task("y")});
  EXPECT_EQ(simulate(system.graph).period(*system.graph.period()), Duration(4));
}

}  // namespace
}  // namespace sluice::sim
