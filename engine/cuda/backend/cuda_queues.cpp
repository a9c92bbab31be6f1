#include "engine/cuda/backend/cuda_queues.hpp"

#include "engine/cuda/runtime/check.hpp"
#include "engine/execution/poll.hpp"

namespace sluice::engine {

using planner::LaneKind;

namespace {

constexpr std::size_t kConstantsAlign = 64;

std::size_t flag_bytes(std::size_t tasks) {
  return (tasks * sizeof(EndFlag) + kConstantsAlign - 1) / kConstantsAlign * kConstantsAlign;
}

/// A lane whose stream has no queued work that an event would have to wait for.
constexpr LaneKind kIdleLane = LaneKind::launch;

/// Longest time that an origin is used: elapsed times are floats in milliseconds, which beyond it
/// lose microseconds.
constexpr std::chrono::seconds kOriginLasts{8};

}  // namespace

TimedEvent::TimedEvent() { check_cuda(cudaEventCreate(&event_), "an event"); }

TimedEvent::~TimedEvent() {
  if (event_ != nullptr) cudaEventDestroy(event_);
}

CudaQueues::CudaQueues(CudaDevice& device, const Program& program)
    : device_(device),
      program_(program),
      memory_(flag_bytes(program.size()) + kStepsQueued * sizeof(AdamWStep)),
      stream_flags_(device.stream(kIdleLane)) {
  auto* flags = reinterpret_cast<EndFlag*>(memory_.data());
  for (std::size_t i = 0; i < program.size(); ++i) new (flags + i) EndFlag(0);
  flags_ = {flags, program.size()};
  auto* constants = reinterpret_cast<AdamWStep*>(memory_.data() + flag_bytes(program.size()));
  for (std::size_t i = 0; i < kStepsQueued; ++i) new (constants + i) AdamWStep{};
  constants_ = {constants, kStepsQueued};
  events_.resize(program.size() * kStepsQueued);
  set_first_origin();
}

CudaQueues::~CudaQueues() {
  for (const LaneKind lane : {LaneKind::compute, LaneKind::h2d, LaneKind::d2h, LaneKind::fabric}) {
    if (device_.queues(lane)) cudaStreamSynchronize(device_.stream(lane));
  }
}

bool CudaQueues::takes(LaneKind lane) const { return device_.queues(lane); }

void CudaQueues::enqueue(std::uint32_t task, std::int64_t step, std::span<const QueueWait> waits) {
  const BoundTask& bound = program_.task(task);
  const cudaStream_t stream = device_.stream(bound.lane);
  for (const QueueWait& wait : waits) {
    check_cuda(cudaStreamWaitEvent(stream, events(wait.task, wait.step).end.get()), "an edge");
  }
  const Events& times = events(task, step);
  check_cuda(cudaEventRecord(times.start.get(), stream), "a task's start");
  device_.enqueue(bound, &constants_[static_cast<std::size_t>(step % kStepsQueued)]);
  check_cuda(cudaEventRecord(times.end.get(), stream), "a task's end");
  stream_flags_.write(stream, &flags_[task], step);
}

void CudaQueues::wait(std::uint32_t task, std::int64_t step) {
  constexpr int kAskEvery = 256;  // A device that has failed writes no flags.
  int asked = 0;
  poll([&] {
    if (flags_[task].load(std::memory_order_acquire) >= step) return true;
    if (++asked % kAskEvery == 0) {
      device_.require_health();
      const cudaError_t status = cudaStreamQuery(device_.stream(program_.task(task).lane));
      if (status != cudaErrorNotReady) check_cuda(status, program_.name(task));
    }
    return false;
  });
}

QueueSpan CudaQueues::span(std::uint32_t task, std::int64_t step) {
  const Events& times = events(task, step);
  const std::lock_guard lock(clock_mutex_);
  if (since_origin(times.start) > kOriginLasts) move_origin();
  return {origin_.time + since_origin(times.start), origin_.time + since_origin(times.end)};
}

std::chrono::nanoseconds CudaQueues::since_origin(const TimedEvent& event) const {
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, origin_.event.get(), event.get()),
             "a task's time");
  return std::chrono::nanoseconds(static_cast<std::int64_t>(double{milliseconds} * 1e6));
}

void CudaQueues::set_first_origin() {
  const cudaStream_t idle = device_.stream(kIdleLane);
  // One record more than needed, because the first on a stream takes longer.
  for (int i = 0; i < 2; ++i) {
    check_cuda(cudaEventRecord(origin_.event.get(), idle), "the clock's origin");
    check_cuda(cudaEventSynchronize(origin_.event.get()), "the clock's origin");
    origin_.time = std::chrono::steady_clock::now();
  }
}

void CudaQueues::move_origin() {
  Origin next;
  check_cuda(cudaEventRecord(next.event.get(), device_.stream(kIdleLane)), "the clock's origin");
  check_cuda(cudaEventSynchronize(next.event.get()), "the clock's origin");
  next.time = origin_.time + since_origin(next.event);
  origin_ = std::move(next);
}

}  // namespace sluice::engine
