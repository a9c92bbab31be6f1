#include "planner/predictions/stalls.hpp"

#include <gtest/gtest.h>

namespace sluice::planner {
namespace {

using std::chrono::nanoseconds;

/// A step graph put together by hand: only lanes, kinds, edges and the period matter.
class HandMade {
 public:
  HandMade() {
    for (std::size_t lane = 0; lane < kLaneKinds; ++lane) {
      graph_.graph.add_lane(to_string(LaneKind(lane)));
    }
  }
  sim::TaskId add(TaskKind kind, LaneKind lane, std::int64_t start, std::int64_t end,
                  decltype(sim::Task::after) after = {}) {
    sim::Task task;
    task.id = std::to_string(graph_.tasks.size());
    task.lane = sim::LaneId(static_cast<std::uint32_t>(lane));
    task.after = std::move(after);
    graph_.tasks.push_back({.kind = kind, .lane = lane});
    times_.push_back({Instant(nanoseconds(start)), Instant(nanoseconds(end))});
    return graph_.graph.add_task(std::move(task));
  }
  StallTimes stalls(sim::TaskId first, sim::TaskId last) {
    graph_.graph.set_period({first, last});
    return stall_times(graph_, times_);
  }

 private:
  StepGraph graph_;
  std::vector<TaskTimes> times_;
};

TEST(Stalls, AWaitIsChargedToWhatEndedLastBeforeIt) {
  HandMade made;
  const auto begin = made.add(TaskKind::grads, LaneKind::compute, 0, 100);
  const auto load = made.add(TaskKind::load_weights, LaneKind::h2d, 0, 160);
  const auto launch = made.add(TaskKind::launch, LaneKind::launch, 0, 120);
  made.add(TaskKind::forward, LaneKind::compute, 160, 200, {load, launch});
  const auto end = made.add(TaskKind::grads, LaneKind::compute, 200, 200);
  const StallTimes stalls = made.stalls(begin, end);
  EXPECT_EQ(stalls.period, nanoseconds(100));
  EXPECT_EQ(stalls.compute, nanoseconds(40));
  EXPECT_EQ(stalls.at(Stall::weights), nanoseconds(60));
  EXPECT_EQ(stalls.at(Stall::launch), nanoseconds(0));
}

TEST(Stalls, AWaitIsSplitAlongTheChainThatLedToIt) {
  // Idle from 100 to 180: the update ran until 150, only then could the weights be copied.
  HandMade made;
  const auto begin = made.add(TaskKind::grads, LaneKind::compute, 0, 100);
  const auto update = made.add(TaskKind::update, LaneKind::cpu, 100, 150, {begin});
  const auto load = made.add(TaskKind::load_weights, LaneKind::h2d, 150, 180, {update});
  made.add(TaskKind::forward, LaneKind::compute, 180, 200, {load});
  const auto end = made.add(TaskKind::grads, LaneKind::compute, 200, 200);
  const StallTimes stalls = made.stalls(begin, end);
  EXPECT_EQ(stalls.at(Stall::optimizer), nanoseconds(50));
  EXPECT_EQ(stalls.at(Stall::weights), nanoseconds(30));
  EXPECT_EQ(stalls.compute, nanoseconds(20));
}

TEST(Stalls, NothingIdleIsNoStall) {
  HandMade made;
  const auto begin = made.add(TaskKind::grads, LaneKind::compute, 0, 10);
  made.add(TaskKind::forward, LaneKind::compute, 10, 30);
  const auto end = made.add(TaskKind::grads, LaneKind::compute, 30, 30);
  const StallTimes stalls = made.stalls(begin, end);
  EXPECT_EQ(stalls.compute, stalls.period);
}

TEST(Stalls, OverlappingMeasuredSpansStillSumToThePeriod) {
  HandMade made;  // Clock noise: the load seems to end after its reader started.
  const auto begin = made.add(TaskKind::grads, LaneKind::compute, 0, 100);
  const auto load = made.add(TaskKind::load_weights, LaneKind::h2d, 90, 151);
  made.add(TaskKind::forward, LaneKind::compute, 150, 170, {load});
  const auto end = made.add(TaskKind::grads, LaneKind::compute, 169, 169);
  const StallTimes stalls = made.stalls(begin, end);
  Duration sum = stalls.compute;
  for (const Duration idle : stalls.idle) sum += idle;
  EXPECT_EQ(sum, stalls.period);
  EXPECT_EQ(stalls.at(Stall::weights), nanoseconds(50));
}

}  // namespace
}  // namespace sluice::planner
