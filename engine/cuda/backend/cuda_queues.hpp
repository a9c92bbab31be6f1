// Streams as lanes, events as edges: the queues of one program on a CUDA device.
#pragma once

#include <cuda_runtime_api.h>

#include <mutex>
#include <utility>
#include <vector>

#include "engine/cuda/backend/cuda_device.hpp"
#include "engine/cuda/runtime/shared_memory.hpp"
#include "engine/cuda/runtime/stream_flags.hpp"
#include "engine/execution/device_queues.hpp"
#include "engine/execution/program.hpp"

namespace sluice::engine {

/// An event that keeps the time at which a stream got there.
class TimedEvent {
 public:
  TimedEvent();
  TimedEvent(TimedEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  TimedEvent& operator=(TimedEvent&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~TimedEvent();
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Takes the lanes compute, h2d and d2h. An edge between queued tasks is an event that the later
/// one's stream waits for; an edge to the CPU is a flag that a stream writes. An edge from the CPU
/// is waited for before the task is handed over.
class CudaQueues : public DeviceQueues {
 public:
  CudaQueues(CudaDevice& device, const Program& program);
  /// Waits for what is still queued.
  ~CudaQueues() override;

  [[nodiscard]] bool takes(planner::LaneKind lane) const override;
  [[nodiscard]] std::span<EndFlag> ended() override { return flags_; }
  [[nodiscard]] std::span<AdamWStep> constants() override { return constants_; }
  void enqueue(std::uint32_t task, std::int64_t step, std::span<const QueueWait> waits) override;
  void wait(std::uint32_t task, std::int64_t step) override;
  [[nodiscard]] QueueSpan span(std::uint32_t task, std::int64_t step) override;

 private:
  struct Events {
    TimedEvent start, end;
  };
  [[nodiscard]] const Events& events(std::uint32_t task, std::int64_t step) const {
    return events_[task * kStepsQueued + static_cast<std::size_t>(step % kStepsQueued)];
  }
  /// Ties the device's clock to the CPU's: an event whose time both know.
  struct Origin {
    TimedEvent event;
    std::chrono::steady_clock::time_point time;
  };
  void set_first_origin();
  void move_origin();
  [[nodiscard]] std::chrono::nanoseconds since_origin(const TimedEvent& event) const;

  CudaDevice& device_;
  const Program& program_;
  SharedMemory memory_;  ///< Flags, then constants.
  std::span<EndFlag> flags_;
  std::span<AdamWStep> constants_;
  StreamFlags stream_flags_;
  std::vector<Events> events_;  ///< kStepsQueued of each task.
  std::mutex clock_mutex_;      ///< Guards origin_; taken only to read a task's times.
  Origin origin_;
};

}  // namespace sluice::engine
