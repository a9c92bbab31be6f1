#include "engine/execution/executor.hpp"

#include <pthread.h>

#include <csignal>

#include "engine/execution/poll.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::int32_t kExit = -1;

/// Leaves signals to the thread that runs the program's main loop.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

Executor::Executor(const Program& program, TaskRunner& runner, Observer* observer,
                   DeviceQueues* queues, RunAhead ahead)
    : program_(program),
      runner_(runner),
      observer_(observer),
      queues_(queues),
      ahead_(ahead),
      ranges_(program),
      epoch_(std::chrono::steady_clock::now()),
      handed_over_(std::make_unique<EndFlag[]>(program.size())) {
  if (queues == nullptr) {
    own_flags_ = std::make_unique<EndFlag[]>(program.size());
    ended_ = {own_flags_.get(), program.size()};
  } else {
    ended_ = queues->ended();
    check(ended_.size() == program.size(), "queues have one flag a task");
    check(program.task(program.grads()).lane == planner::LaneKind::compute,
          "the step's synchronization has its place among compute tasks");
  }
  for (std::size_t lane = 0; lane < planner::kLaneKinds; ++lane) {
    threads_[lane] = std::thread([this, lane] { lane_main(static_cast<planner::LaneKind>(lane)); });
  }
}

Executor::~Executor() {
  generation_.store(kExit);
  generation_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::int64_t Executor::run(std::int64_t first, std::int64_t last,
                           const std::function<void(std::int64_t)>& step_done) {
  check(!failed_.load(), "a failed executor does not run again");
  check(first == begun_ + 1 && last >= first && last < kRunFailed, "steps are run in order");
  {
    const std::lock_guard lock(mutex_);
    limit_ = last;
  }
  first_ = first;
  last_ = last;
  if (queues_ != nullptr) sleep_precisely();
  idle_lanes_.store(0, std::memory_order_relaxed);
  generation_.fetch_add(1);
  generation_.notify_all();

  std::int64_t step = first;
  try {
    for (; step <= last; ++step) {
      {
        const std::lock_guard lock(mutex_);
        if (step > limit_) break;
      }
      if (!synchronize(step)) break;
      if (step_done) step_done(step);
    }
  } catch (...) {
    fail(std::current_exception());
  }
  for (;;) {
    const std::int32_t idle = idle_lanes_.load(std::memory_order_acquire);
    if (idle == static_cast<std::int32_t>(planner::kLaneKinds)) break;
    idle_lanes_.wait(idle, std::memory_order_acquire);
  }
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  return begun_;
}

void Executor::request_stop() {
  const std::lock_guard lock(mutex_);
  limit_ = std::min(limit_, std::max(begun_, first_));
}

void Executor::lane_main(planner::LaneKind lane) {
  block_signals();
  bool entered = false;
  std::int32_t seen = 0;
  for (;;) {
    generation_.wait(seen, std::memory_order_acquire);
    const std::int32_t generation = generation_.load(std::memory_order_acquire);
    if (generation == kExit) return;
    if (generation == seen) continue;
    seen = generation;
    try {
      if (!entered) runner_.enter_lane(lane);
      entered = true;
      walk(lane, first_, last_);
    } catch (...) {
      fail(std::current_exception());
    }
    idle_lanes_.fetch_add(1);
    idle_lanes_.notify_all();
  }
}

void Executor::walk(planner::LaneKind lane, std::int64_t first, std::int64_t last) {
  if (program_.lane(lane).empty()) return;
  if (takes(lane)) {
    feed(lane, first, last);
    return;
  }
  for (std::int64_t step = first; step <= last; ++step) {
    if (!begin_step(step)) return;
    for (const std::uint32_t task : program_.lane(lane)) {
      for (const Dependency& dependency : program_.after(task)) {
        if (!wait_for(dependency.task, step - dependency.distance)) return;
      }
      if (failed_.load(std::memory_order_relaxed)) return;
      run_here({task, step});
    }
  }
}

void Executor::run_here(Instance instance) {
  const Instant start = now();
  {
    const TaskRanges::Scope range(ranges_, instance.task);
    const TaskCalls calls(observer_, instance.task, instance.step);
    runner_.run(instance.task, instance.step);
  }
  const Instant end = now();
  publish(instance);
  tell(instance, start, end);
}

void Executor::tell(Instance instance, Instant start, Instant end) {
  if (observer_ != nullptr) observer_->task_ran({instance.task, instance.step, start, end});
}

void Executor::stop_after(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  limit_ = std::min(limit_, step);
}

bool Executor::begin_step(std::int64_t step) {
  constexpr std::int64_t kAhead = 2;  // A step begins when the one before last is known.
  if (ahead_ == RunAhead::one_step && step - kAhead >= first_ &&
      !wait_for(program_.grads(), step - kAhead)) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  if (step > limit_) return false;
  begun_ = std::max(begun_, step);
  return true;
}

/// Sleeps until `task` of `step` has ended; false if the run has failed.
bool Executor::wait_for(std::uint32_t task, std::int64_t step) const {
  const EndFlag& flag = ended_[task];
  if (queued(task)) {
    poll([&] { return flag.load(std::memory_order_acquire) >= step || failed_.load(); });
  } else {
    for (std::int32_t ended = flag.load(std::memory_order_acquire); ended < step;) {
      flag.wait(ended, std::memory_order_acquire);
      ended = flag.load(std::memory_order_acquire);
    }
  }
  // The device may overwrite what `fail` stored.
  return flag.load(std::memory_order_acquire) != kRunFailed && !failed_.load();
}

void Executor::publish(Instance instance) {
  auto before = static_cast<std::int32_t>(instance.step - 1);
  // Fails only if `fail` has already stored kRunFailed, which must stay.
  ended_[instance.task].compare_exchange_strong(before, static_cast<std::int32_t>(instance.step));
  ended_[instance.task].notify_all();
}

void Executor::fail(std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  failed_.store(true);
  const auto release = [](EndFlag& flag) {
    // Sequentially consistent: notify_all may look for waiters only after the value is visible.
    flag.store(kRunFailed);
    flag.notify_all();
  };
  for (EndFlag& flag : ended_) release(flag);
  for (std::size_t i = 0; i < program_.size(); ++i) release(handed_over_[i]);
  for (EndFlag& flag : fed_) release(flag);
}

}  // namespace sluice::engine
