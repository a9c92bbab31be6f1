// The executor with a device that runs lanes itself: threads of its own start tasks when their
// predecessors have ended, as streams do.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>

#include "engine/execution/executor.hpp"
#include "engine/execution/poll.hpp"
#include "sim/error.hpp"
#include "tests/engine/fake_program.hpp"

namespace sluice::engine::test {
namespace {

using Instance = std::pair<std::int64_t, std::uint32_t>;  ///< Pairs of step and task.

/// Tasks of CPU and device that have ended, in order.
class Log {
 public:
  void add(std::uint32_t task, std::int64_t step) {
    const std::lock_guard lock(mutex_);
    ended_.emplace_back(step, task);
  }
  [[nodiscard]] std::vector<Instance> instances() const {
    const std::lock_guard lock(mutex_);
    return ended_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Instance> ended_;
};

/// Queues with one thread per lane, which runs enqueued tasks in order.
class ThreadQueues : public DeviceQueues {
 public:
  ThreadQueues(const Program& program, Log& log)
      : program_(program), log_(log), flags_(program.size()) {
    for (Lane& lane : lanes_) lane.thread = std::thread([this, &lane] { work(lane); });
  }
  ~ThreadQueues() override {
    for (Lane& lane : lanes_) {
      {
        const std::lock_guard lock(lane.mutex);
        lane.closed = true;
      }
      lane.ready.notify_all();
      lane.thread.join();
    }
  }

  bool takes(LaneKind lane) const override {
    return lane != LaneKind::cpu && lane != LaneKind::launch;
  }
  std::span<EndFlag> ended() override { return flags_; }
  std::span<AdamWStep> constants() override { return constants_; }
  void enqueue(std::uint32_t task, std::int64_t step, std::span<const QueueWait> waits) override {
    if (refuse && refuse(task, step)) throw EnvironmentError("refused");
    Lane& lane = lanes_[static_cast<std::size_t>(program_.task(task).lane)];
    const std::lock_guard lock(lane.mutex);
    lane.items.push_back({task, step, {waits.begin(), waits.end()}});
    std::size_t most = most_ahead.load();
    while (most < lane.items.size() && !most_ahead.compare_exchange_weak(most, lane.items.size())) {
    }
    lane.ready.notify_all();
  }
  void wait(std::uint32_t task, std::int64_t step) override {
    poll([&] { return flags_[task].load() >= step; });
  }
  QueueSpan span(std::uint32_t task, std::int64_t step) override {
    const std::lock_guard lock(times_mutex_);
    return times_.at({step, task});
  }

  std::function<bool(std::uint32_t, std::int64_t)> refuse;
  std::function<void(std::uint32_t, std::int64_t)> action;
  std::atomic<std::size_t> most_ahead{
      0};  ///< Tasks enqueued on one lane; each lane's are enqueued by a thread of its own.

 private:
  struct Item {
    std::uint32_t task;
    std::int64_t step;
    std::vector<QueueWait> waits;
  };
  struct Lane {
    std::thread thread;
    std::mutex mutex;
    std::condition_variable ready;
    std::deque<Item> items;
    bool closed = false;
  };

  void work(Lane& lane) {
    for (;;) {
      std::unique_lock lock(lane.mutex);
      lane.ready.wait(lock, [&] { return lane.closed || !lane.items.empty(); });
      if (lane.items.empty()) return;
      const Item item = lane.items.front();
      lane.items.pop_front();
      lock.unlock();
      for (const QueueWait& wait : item.waits) {
        poll([&] { return flags_[wait.task].load() >= wait.step; });
      }
      const auto start = std::chrono::steady_clock::now();
      if (action) action(item.task, item.step);
      log_.add(item.task, item.step);
      {
        const std::lock_guard times(times_mutex_);
        times_[{item.step, item.task}] = {start, std::chrono::steady_clock::now()};
      }
      flags_[item.task].store(static_cast<std::int32_t>(item.step));
    }
  }

  const Program& program_;
  Log& log_;
  std::vector<EndFlag> flags_;
  std::array<AdamWStep, kStepsQueued> constants_{};
  std::array<Lane, planner::kLaneKinds> lanes_;
  std::mutex times_mutex_;
  std::map<Instance, QueueSpan> times_;
};

class CpuTasks : public TaskRunner {
 public:
  explicit CpuTasks(Log& log) : log_(log) {}
  void enter_lane(LaneKind) override {}
  void run(std::uint32_t task, std::int64_t step) override {
    if (action) action(task, step);
    log_.add(task, step);
  }
  std::function<void(std::uint32_t, std::int64_t)> action;

 private:
  Log& log_;
};

class Spans : public Observer {
 public:
  void task_ran(const TaskEvent& event) override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(seen.emplace(Instance{event.step, event.task}, event).second);
  }
  std::map<Instance, TaskEvent> seen;

 private:
  std::mutex mutex_;
};

struct QueuedRun {
  explicit QueuedRun(const std::vector<FakeTask>& step)
      : program(fake_graph(step), device),
        queues(program, log),
        cpu(log),
        executor(program, cpu, &spans, &queues) {}
  EmptyDevice device;
  Program program;
  Log log;
  ThreadQueues queues;
  CpuTasks cpu;
  Spans spans;
  Executor executor;
};

/// Expects every task after its predecessors, and after the previous one on its lane.
void expect_in_order(const Program& program, const std::vector<Instance>& instances,
                     std::int64_t steps) {
  std::map<Instance, std::size_t> place;
  for (std::size_t i = 0; i < instances.size(); ++i) {
    EXPECT_TRUE(place.emplace(instances[i], i).second) << "a task ran twice";
  }
  ASSERT_EQ(instances.size(), program.size() * static_cast<std::size_t>(steps));
  for (const auto& [instance, at] : place) {
    for (const Dependency& dependency : program.after(instance.second)) {
      const std::int64_t step = instance.first - dependency.distance;
      if (step >= 1) {
        EXPECT_LT(place.at({step, dependency.task}), at);
      }
    }
  }
  for (std::size_t kind = 0; kind < planner::kLaneKinds; ++kind) {
    std::vector<std::size_t> along;
    for (std::int64_t step = 1; step <= steps; ++step) {
      for (const std::uint32_t task : program.lane(static_cast<LaneKind>(kind))) {
        along.push_back(place.at({step, task}));
      }
    }
    EXPECT_TRUE(std::is_sorted(along.begin(), along.end()));
  }
}

/// A step load -> forward -> grads (on the compute lane, run by the CPU) -> update. The next load
/// waits for the update, and a GPU update follows the synchronization on its own lane without an
/// edge.
const std::vector<FakeTask> kQueuedStep = {
    {LaneKind::h2d, TaskKind::load_weights, {}, {4}}, {LaneKind::compute, TaskKind::forward, {0}},
    {LaneKind::compute, TaskKind::grads, {}},         {LaneKind::compute, TaskKind::update, {}},
    {LaneKind::cpu, TaskKind::update, {2}},
};

TEST(QueuedExecutor, TasksOfCpuAndDeviceKeepEdgesAndLaneOrder) {
  QueuedRun run(kQueuedStep);
  EXPECT_EQ(run.executor.run(1, 40), 40);
  EXPECT_EQ(run.executor.run(41, 50), 50);
  expect_in_order(run.program, run.log.instances(), 50);
  EXPECT_EQ(run.spans.seen.size(), 50 * kQueuedStep.size());
}

TEST(QueuedExecutor, RandomProgramsKeepEdgesAndLaneOrder) {
  std::mt19937 random(11);
  for (int program = 0; program < 30; ++program) {
    std::vector<FakeTask> step;
    const auto pick = [&](std::uint32_t n) {
      return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random);
    };
    const std::uint32_t tasks = 3 + pick(40);
    const std::uint32_t grads = pick(tasks);
    for (std::uint32_t i = 0; i < tasks; ++i) {
      FakeTask task{.lane = static_cast<LaneKind>(pick(planner::kLaneKinds))};
      if (i == grads) task = {LaneKind::compute, TaskKind::grads};
      // At most one predecessor per lane, as in step graphs.
      std::map<LaneKind, std::uint32_t> before;
      for (std::uint32_t n = 0; i > 0 && n < pick(4); ++n) {
        const std::uint32_t other = pick(i);
        before[step[other].lane] = std::max(before[step[other].lane], other);
      }
      for (const auto& [lane, other] : before) {
        if (lane != task.lane) task.after.push_back(other);
      }
      step.push_back(task);
    }
    const std::uint32_t later = pick(tasks);
    if (step.front().lane != step[later].lane) step.front().after_previous.push_back(later);
    QueuedRun run(step);
    EXPECT_EQ(run.executor.run(1, 20), 20);
    expect_in_order(run.program, run.log.instances(), 20);
  }
}

/// Records, by thread, for which task the device is called.
class Callers : public Observer {
 public:
  void task_ran(const TaskEvent&) override {}
  void calls_begin(std::uint32_t task, std::int64_t step) override { now() = {step, task}; }
  void calls_end() override { now() = {0, 0}; }
  static Instance& now() {
    thread_local Instance instance{0, 0};
    return instance;
  }
};

TEST(QueuedExecutor, WhatAThreadAsksOfTheDeviceIsForTheTaskTheObserverWasToldOf) {
  QueuedRun run(kQueuedStep);
  Callers callers;
  run.executor.observe(&callers);
  std::atomic<std::size_t> told{0};
  run.queues.refuse = [&](std::uint32_t task, std::int64_t step) {
    EXPECT_EQ(Callers::now(), Instance(step, task));
    ++told;
    return false;
  };
  run.cpu.action = [&](std::uint32_t task, std::int64_t step) {
    EXPECT_EQ(Callers::now(), Instance(step, task));
    ++told;
  };
  run.executor.run(1, 5);
  EXPECT_EQ(told.load(), 5 * kQueuedStep.size());
}

TEST(QueuedExecutor, TasksAreHandedOverBeforeWhatTheyWaitForHasEnded) {
  // The load lasts until the backward pass, which waits for it, has been enqueued.
  const std::vector<FakeTask> step = {{LaneKind::h2d, TaskKind::load_weights},
                                      {LaneKind::compute, TaskKind::forward, {0}},
                                      {LaneKind::compute, TaskKind::backward},
                                      {LaneKind::compute, TaskKind::grads}};
  QueuedRun run(step);
  std::atomic<bool> handed{false};
  run.queues.refuse = [&](std::uint32_t task, std::int64_t number) {
    if (task == 2 && number == 1) handed = true;
    return false;
  };
  run.queues.action = [&](std::uint32_t task, std::int64_t number) {
    if (task == 0 && number == 1) poll([&] { return handed.load(); });
  };
  EXPECT_EQ(run.executor.run(1, 2), 2);
  EXPECT_TRUE(handed);
}

/// Largest number of tasks enqueued on one lane, in a step of a hundred tasks like `task`, the
/// first of which lasts until `expected` were enqueued.
std::size_t most_ahead(const FakeTask& task, std::size_t expected) {
  std::vector<FakeTask> step(100, task);
  step.push_back({LaneKind::compute, TaskKind::grads});
  QueuedRun run(step);
  run.queues.action = [&](std::uint32_t index, std::int64_t number) {
    if (index == 0 && number == 1) poll([&] { return run.queues.most_ahead + 1 >= expected; });
  };
  EXPECT_EQ(run.executor.run(1, 3), 3);
  expect_in_order(run.program, run.log.instances(), 3);
  return run.queues.most_ahead;
}

TEST(QueuedExecutor, AQueueHoldsNoMoreThanItsShare) {
  EXPECT_LE(most_ahead({LaneKind::compute, TaskKind::forward}, 24), 24U);
}

// A copy of 8 MiB takes 150 us: 24 last less than a thread may wait for a core.
TEST(QueuedExecutor, AQueueHoldsMoreCopiesWhileTheyAreSmall) {
  FakeTask copy{LaneKind::h2d, TaskKind::load_weights};
  copy.bytes = 8_MiB;
  EXPECT_LE(most_ahead(copy, 64), 64U);
  copy.bytes = 16_MiB;
  EXPECT_LE(most_ahead(copy, 32), 32U);
  copy.bytes = 1_GiB;
  EXPECT_LE(most_ahead(copy, 24), 24U);
}

TEST(QueuedExecutor, ARefusedTaskStopsTheRunAndIsRethrown) {
  QueuedRun run(kQueuedStep);
  run.queues.refuse = [](std::uint32_t task, std::int64_t step) { return task == 1 && step == 7; };
  EXPECT_THROW((void)run.executor.run(1, 1000), EnvironmentError);
  EXPECT_THROW((void)run.executor.run(8, 9), std::logic_error);
}

TEST(QueuedExecutor, AnErrorOfTheCpuReleasesQueuesThatWaitForIt) {
  QueuedRun run(kQueuedStep);
  run.cpu.action = [](std::uint32_t task, std::int64_t step) {
    if (task == 4 && step == 5) throw BadRequest("update");
  };
  EXPECT_THROW((void)run.executor.run(1, 1000), BadRequest);
}

TEST(QueuedExecutor, AStopEndsEveryLaneAtTheSameStep) {
  QueuedRun run(kQueuedStep);
  const std::int64_t last = run.executor.run(1, 100'000, [&](std::int64_t step) {
    if (step == 9) run.executor.request_stop();
  });
  EXPECT_GE(last, 9);
  EXPECT_LE(last, 9 + kStepsQueued + 1);  // This step began while the ninth was being reported.
  expect_in_order(run.program, run.log.instances(), last);
  EXPECT_EQ(run.executor.run(last + 1, last + 3), last + 3);
}

}  // namespace
}  // namespace sluice::engine::test
