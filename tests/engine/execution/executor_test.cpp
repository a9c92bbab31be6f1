#include "engine/execution/executor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <stdexcept>
#include <thread>

#include "sim/error.hpp"
#include "tests/engine/fake_program.hpp"

namespace sluice::engine::test {
namespace {

/// A step with compute: forward, grads; h2d: load; cpu: update. The next step's load waits for the
/// update.
const std::vector<FakeTask> kStep = {
    {LaneKind::h2d, TaskKind::load_weights, {}, {3}},
    {LaneKind::compute, TaskKind::forward, {0}},
    {LaneKind::compute, TaskKind::grads, {1}},
    {LaneKind::cpu, TaskKind::update, {2}},
};

/// Runs `action`, if any, and records the order in which tasks ended.
class Script : public TaskRunner {
 public:
  void enter_lane(LaneKind) override { lanes_entered.fetch_add(1); }
  void run(std::uint32_t task, std::int64_t step) override {
    if (action) action(task, step);
    const std::lock_guard lock(mutex_);
    ran.emplace_back(step, task);
  }
  std::function<void(std::uint32_t, std::int64_t)> action;
  std::vector<std::pair<std::int64_t, std::uint32_t>> ran;
  std::atomic<int> lanes_entered{0};

 private:
  std::mutex mutex_;
};

/// Records the events of the first eight steps.
class Events : public Observer {
 public:
  explicit Events(std::size_t tasks) : seen_(tasks * 8) {}
  void task_ran(const TaskEvent& event) override {
    if (event.step > 8) return;
    const auto slot = static_cast<std::size_t>(event.step - 1) * (seen_.size() / 8) + event.task;
    seen_[slot] = event;
  }
  [[nodiscard]] const TaskEvent& of(std::int64_t step, std::uint32_t task) const {
    return seen_[static_cast<std::size_t>(step - 1) * (seen_.size() / 8) + task];
  }

 private:
  std::vector<TaskEvent> seen_;
};

struct Fixture {
  explicit Fixture(const std::vector<FakeTask>& step)
      : program(fake_graph(step), device),
        events(step.size()),
        executor(program, script, &events) {}
  EmptyDevice device;
  Program program;
  Script script;
  Events events;
  Executor executor;
};

TEST(Executor, AChainRunsInOrderAcrossSteps) {
  // Every task waits for the one before, the first for the last of the previous step, so there is
  // only one order.
  Fixture run(kStep);
  EXPECT_EQ(run.executor.run(1, 5), 5);
  std::vector<std::pair<std::int64_t, std::uint32_t>> expected;
  for (std::int64_t step = 1; step <= 5; ++step) {
    for (std::uint32_t task = 0; task < 4; ++task) expected.emplace_back(step, task);
  }
  EXPECT_EQ(run.script.ran, expected);
  EXPECT_EQ(run.script.lanes_entered.load(), static_cast<int>(planner::kLaneKinds));
}

TEST(Executor, ConsecutiveRunsContinue) {
  Fixture run(kStep);
  EXPECT_EQ(run.executor.run(1, 2), 2);
  EXPECT_EQ(run.executor.run(3, 3), 3);
  EXPECT_EQ(run.script.ran.size(), 12U);
  EXPECT_THROW((void)run.executor.run(3, 4), std::logic_error);
}

TEST(Executor, EventsStartAfterWhatTheyWaitForHasEnded) {
  Fixture run(kStep);
  run.executor.run(1, 3);
  for (std::int64_t step = 1; step <= 3; ++step) {
    EXPECT_GE(run.events.of(step, 1).start, run.events.of(step, 0).end);
    EXPECT_GE(run.events.of(step, 3).start, run.events.of(step, 2).end);
    if (step > 1) {
      EXPECT_GE(run.events.of(step, 0).start, run.events.of(step - 1, 3).end);
    }
  }
}

TEST(Executor, StepsOverlapWhereNoEdgeForbidsIt) {
  // The update of step 1 lasts until the forward of step 2 has begun: without overlap it would
  // never end.
  const std::vector<FakeTask> step = {{LaneKind::compute, TaskKind::forward},
                                      {LaneKind::compute, TaskKind::grads, {0}},
                                      {LaneKind::cpu, TaskKind::update, {1}}};
  Fixture run(step);
  std::atomic<int> second_forward{0};
  run.script.action = [&](std::uint32_t task, std::int64_t number) {
    if (task == 0 && number == 2) {
      second_forward = 1;
      second_forward.notify_all();
    }
    if (task == 2 && number == 1) second_forward.wait(0);
  };
  EXPECT_EQ(run.executor.run(1, 2), 2);
}

TEST(Executor, StepDoneIsCalledOnceAStepInOrder) {
  Fixture run(kStep);
  std::vector<std::int64_t> steps;
  run.executor.run(1, 4, [&](std::int64_t step) { steps.push_back(step); });
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST(Executor, AStopEndsEveryLaneAtTheSameStep) {
  // The stop is requested while the forward of step 4 runs, which lasts until then: step 4 has
  // begun, and no lane has begun step 6.
  Fixture run(kStep);
  std::atomic<int> fourth_forward{0};
  std::atomic<int> stopped{0};
  run.script.action = [&](std::uint32_t task, std::int64_t step) {
    if (task != 1 || step != 4) return;
    fourth_forward = 1;
    fourth_forward.notify_all();
    stopped.wait(0);
  };
  const std::int64_t last = run.executor.run(1, 1000, [&](std::int64_t step) {
    if (step != 3) return;
    fourth_forward.wait(0);
    run.executor.request_stop();
    stopped = 1;
    stopped.notify_all();
  });
  EXPECT_GE(last, 4);
  EXPECT_LE(last, 5);
  EXPECT_EQ(run.script.ran.size(), static_cast<std::size_t>(4 * last));
  EXPECT_EQ(run.executor.run(last + 1, last + 2), last + 2);
}

TEST(Executor, AnErrorOnALaneStopsTheRunAndIsRethrown) {
  Fixture run(kStep);
  run.script.action = [](std::uint32_t task, std::int64_t step) {
    if (task == 1 && step == 2) throw EnvironmentError("the device is gone");
  };
  try {
    run.executor.run(1, 1000);
    FAIL() << "the error was lost";
  } catch (const EnvironmentError& error) {
    EXPECT_STREQ(error.what(), "the device is gone");
  }
  EXPECT_THROW((void)run.executor.run(3, 4), std::logic_error);
}

TEST(Executor, AnErrorInStepDoneStopsTheRunAndIsRethrown) {
  Fixture run(kStep);
  EXPECT_THROW((void)run.executor.run(1, 1000,
                                      [](std::int64_t step) {
                                        if (step == 2) throw EnvironmentError("disk full");
                                      }),
               EnvironmentError);
}

TEST(Executor, WaitingLanesTakeNoProcessorTime) {
  using std::chrono::milliseconds;
  // The processor time in seconds that the whole process takes for one step whose first task waits
  // for so long.
  const auto seconds_used = [](milliseconds wait) {
    Fixture run({{LaneKind::h2d, TaskKind::load_weights},
                 {LaneKind::compute, TaskKind::grads, {0}},
                 {LaneKind::cpu, TaskKind::update, {1}}});
    run.script.action = [wait](std::uint32_t task, std::int64_t) {
      if (task == 0) std::this_thread::sleep_for(wait);
    };
    const std::clock_t before = std::clock();
    run.executor.run(1, 1);
    return static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  };
  // What starting and ending a run takes is in both; a single lane that spun would use all of the
  // 0.6 s between them.
  EXPECT_LT(seconds_used(milliseconds(650)) - seconds_used(milliseconds(50)), 0.3);
}

TEST(Program, DistanceIsTheStepThatAnEdgeCrosses) {
  EmptyDevice device;
  const Program program(fake_graph(kStep), device);
  ASSERT_EQ(program.after(0).size(), 1U);
  EXPECT_EQ(program.after(0)[0].task, 3U);
  EXPECT_EQ(program.after(0)[0].distance, 1U);
  ASSERT_EQ(program.after(1).size(), 1U);
  EXPECT_EQ(program.after(1)[0].distance, 0U);
  EXPECT_EQ(program.grads(), 2U);
}

TEST(Program, ACycleWithinAStepBreaksTheContract) {
  EmptyDevice device;
  EXPECT_THROW(Program(fake_graph({{LaneKind::h2d, TaskKind::load_weights, {1}},
                                   {LaneKind::compute, TaskKind::grads, {0}}}),
                       device),
               std::logic_error);
}

}  // namespace
}  // namespace sluice::engine::test
