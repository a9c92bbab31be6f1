#include "engine/executor.hpp"

#include <pthread.h>

#include <csignal>
#include <limits>
#include <stdexcept>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Stored for every task once a run has failed: larger than any step, so that no one waits on.
constexpr std::int32_t kFailed = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kExit = -1;

/// Signals belong to the thread that runs the program's main loop.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

Executor::Executor(const Program& program, TaskRunner& runner, Observer* observer)
    : program_(program),
      runner_(runner),
      observer_(observer),
      epoch_(std::chrono::steady_clock::now()),
      done_(std::make_unique<std::atomic<std::int32_t>[]>(program.size())) {
  for (std::size_t i = 0; i < program.size(); ++i) done_[i].store(0);
  for (std::size_t lane = 0; lane < planner::kLaneKinds; ++lane) {
    threads_[lane] = std::thread([this, lane] { lane_main(static_cast<planner::LaneKind>(lane)); });
  }
}

Executor::~Executor() {
  generation_.store(kExit);
  generation_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Instant Executor::now() const {
  return Instant(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - epoch_));
}

std::int64_t Executor::run(std::int64_t first, std::int64_t last,
                           const std::function<void(std::int64_t)>& step_done) {
  check(!failed_.load(), "a failed executor does not run again");
  check(first == begun_ + 1 && last >= first && last < kFailed, "steps are run in order");
  {
    const std::lock_guard lock(mutex_);
    limit_ = last;
  }
  first_ = first;
  last_ = last;
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
      if (!wait_for(program_.grads(), step)) break;
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
  for (std::int64_t step = first; step <= last; ++step) {
    if (!begin_step(step)) return;
    for (const std::uint32_t task : program_.lane(lane)) {
      for (const Dependency& dependency : program_.after(task)) {
        if (!wait_for(dependency.task, step - dependency.distance)) return;
      }
      if (failed_.load(std::memory_order_relaxed)) return;
      const Instant start = now();
      runner_.run(task, step);
      const Instant end = now();
      publish(task, step);
      if (observer_ != nullptr) observer_->task_ran({task, step, start, end});
    }
  }
}

bool Executor::begin_step(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  if (step > limit_) return false;
  begun_ = std::max(begun_, step);
  return true;
}

/// Sleeps until `task` of `step` has ended; false if the run has failed.
bool Executor::wait_for(std::uint32_t task, std::int64_t step) const {
  std::int32_t done = done_[task].load(std::memory_order_acquire);
  while (done < step) {
    done_[task].wait(done, std::memory_order_acquire);
    done = done_[task].load(std::memory_order_acquire);
  }
  return done != kFailed;
}

void Executor::publish(std::uint32_t task, std::int64_t step) {
  auto before = static_cast<std::int32_t>(step - 1);
  // Fails only where `fail` has already stored kFailed, which must stay.
  done_[task].compare_exchange_strong(before, static_cast<std::int32_t>(step));
  done_[task].notify_all();
}

void Executor::fail(std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  failed_.store(true);
  wake_lanes();
}

void Executor::wake_lanes() {
  for (std::size_t i = 0; i < program_.size(); ++i) {
    // Sequentially consistent: notify_all may look for waiters only after the value is visible.
    done_[i].store(kFailed);
    done_[i].notify_all();
  }
}

}  // namespace sluice::engine
