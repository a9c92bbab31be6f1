// The executor's part for lanes that the device runs: enqueueing tasks ahead of time.
#include <algorithm>
#include <array>

#include "engine/execution/executor.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Largest number of a lane's tasks enqueued on the device: enough that enqueueing never delays it,
/// few enough that its command queues never fill and block the caller.
constexpr std::size_t kAhead = 24;
/// Largest number of small copies enqueued: 24 copies of 8 MiB last less than a thread may wait for
/// a core while the optimizer occupies all of them (docs/design/cuda-queues.md).
constexpr std::size_t kCopiesAhead = 64;
constexpr Bytes kEnoughAhead = 512_MiB;
/// Number of tasks that must have ended before a lane enqueues more, so that its thread wakes
/// rarely.
constexpr std::size_t kAtOnce = 12;

constexpr std::size_t kMostWaits = planner::kLaneKinds;

bool wait_until(const EndFlag& flag, std::int64_t step) {
  std::int32_t value = flag.load(std::memory_order_acquire);
  while (value < step) {
    flag.wait(value, std::memory_order_acquire);
    value = flag.load(std::memory_order_acquire);
  }
  return value != kRunFailed;
}

void raise(EndFlag& flag, std::int64_t step) {
  auto before = static_cast<std::int32_t>(step - 1);
  flag.compare_exchange_strong(before, static_cast<std::int32_t>(step));
  flag.notify_all();
}

}  // namespace

/// Tasks of a lane that were enqueued and have not been seen to end, oldest first.
class Executor::InFlight {
 public:
  [[nodiscard]] std::size_t size() const { return count_; }
  /// Whether the lane has enqueued as much as it may.
  [[nodiscard]] bool full() const {
    const bool small_copies = bytes_ > Bytes(0) && bytes_ < kEnoughAhead;
    return count_ >= (small_copies ? kCopiesAhead : kAhead);
  }
  [[nodiscard]] std::size_t before(std::int64_t step) const {
    std::size_t older = 0;
    while (older < count_ && instance(older).step < step) ++older;
    return older;
  }
  void push(Instance instance, Bytes bytes) {
    tasks_[(first_ + count_++) % tasks_.size()] = {instance, bytes};
    bytes_ += bytes;
  }
  Instance pop() {
    const auto [instance, bytes] = tasks_[first_];
    first_ = (first_ + 1) % tasks_.size();
    --count_;
    bytes_ -= bytes;
    return instance;
  }

 private:
  struct Task {
    Instance instance;
    Bytes bytes;  ///< Bytes copied; zero for compute.
  };
  [[nodiscard]] const Instance& instance(std::size_t i) const {
    return tasks_[(first_ + i) % tasks_.size()].instance;
  }

  std::array<Task, kCopiesAhead> tasks_{};
  std::size_t first_ = 0, count_ = 0;
  Bytes bytes_{0};
};

bool Executor::feed(planner::LaneKind lane, std::int64_t first, std::int64_t last) {
  InFlight flight;
  // A lane is serial: what follows the synchronization waits for it, also in the next step.
  Instance synchronization{};
  const Instance* met = nullptr;
  EndFlag& fed = fed_[static_cast<std::size_t>(lane)];
  for (std::int64_t step = first; step <= last; ++step) {
    if (!begin_step(step)) break;
    for (std::size_t other = 0; other < planner::kLaneKinds; ++other) {
      const auto kind = static_cast<planner::LaneKind>(other);
      if (!takes(kind) || program_.lane(kind).empty()) continue;
      if (!wait_until(fed_[other], step - kStepsQueued + 1)) return false;
    }
    if (!retire(flight, flight.size() - flight.before(step - kStepsQueued + 1))) return false;
    for (const std::uint32_t task : program_.lane(lane)) {
      if (task == program_.grads()) {
        synchronization = {task, step};
        met = &synchronization;
        continue;
      }
      if (flight.full() && !retire(flight, flight.size() - kAtOnce)) return false;
      if (failed_.load(std::memory_order_relaxed)) return false;
      if (!hand_over({task, step}, met)) return false;
      met = nullptr;
      flight.push({task, step}, program_.task(task).bytes);
    }
    raise(fed, step);
  }
  return retire(flight, 0);
}

bool Executor::hand_over(Instance instance, const Instance* synchronization) {
  std::array<QueueWait, kMostWaits> waits{};
  std::size_t count = 0;
  const auto wait = [&](std::uint32_t task, std::int64_t step) {
    if (step < 1 || ended_[task].load(std::memory_order_acquire) >= step) return true;
    // No queue waits for the CPU: queues may share a channel of the device, where a wait for a CPU
    // task could block the very work that this task waits for.
    if (!queued(task)) return wait_for(task, step);
    check(count < kMostWaits, "a task waits for at most one task of each lane");
    waits[count++] = {task, step};
    return wait_until(handed_over_[task], step);
  };
  if (synchronization != nullptr && !wait(synchronization->task, synchronization->step))
    return false;
  for (const Dependency& dependency : program_.after(instance.task)) {
    if (!wait(dependency.task, instance.step - dependency.distance)) return false;
  }
  {
    const TaskRanges::Scope range(ranges_, instance.task);
    const TaskCalls calls(observer_, instance.task, instance.step);
    queues_->enqueue(instance.task, instance.step, std::span(waits).first(count));
  }
  raise(handed_over_[instance.task], instance.step);
  return true;
}

/// Waits until only `left` tasks are in flight; returns false if the run has failed.
bool Executor::retire(InFlight& flight, std::size_t left) {
  while (flight.size() > left) {
    const Instance instance = flight.pop();
    queues_->wait(instance.task, instance.step);
    if (failed_.load(std::memory_order_relaxed)) return false;
    if (observer_ == nullptr) continue;
    const QueueSpan span = queues_->span(instance.task, instance.step);
    tell(instance, instant(span.start), instant(span.end));
  }
  return true;
}

/// Waits until the step's last gradient is known. A queued lane cannot run the CPU's task there, so
/// the calling thread runs it.
bool Executor::synchronize(std::int64_t step) {
  const std::uint32_t grads = program_.grads();
  if (!takes(program_.task(grads).lane)) return wait_for(grads, step);
  const auto& lane = program_.lane(program_.task(grads).lane);
  const auto place = std::find(lane.begin(), lane.end(), grads);
  const bool first = place == lane.begin();
  if (!wait_for(first ? lane.back() : *(place - 1), first ? step - 1 : step)) return false;
  for (const Dependency& dependency : program_.after(grads)) {
    if (!wait_for(dependency.task, step - dependency.distance)) return false;
  }
  run_here({grads, step});
  return true;
}

}  // namespace sluice::engine
