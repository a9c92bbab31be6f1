// Device queues of one program on a CUDA device: lanes are streams, dependencies are events.
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

/// A CUDA event that records the time at which a stream reached it.
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

/// The queues of a CudaDevice: streams for the lanes compute and, unless copies are staged, h2d and
/// d2h, and with several ranks fabric. A queued task waits for another queued task by an event on
/// its stream; the CPU learns of a queued task's end by a flag that the stream writes. Tasks of the
/// CPU must have ended before a task that waits for them is enqueued.
class CudaQueues : public DeviceQueues {
 public:
  CudaQueues(CudaDevice& device, const Program& program);
  /// Waits until the streams have run all tasks that are still queued.
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
  /// An event whose time is known both on the device's clock and on the CPU's, by which times of
  /// other events are converted to the CPU's.
  struct Origin {
    TimedEvent event;
    std::chrono::steady_clock::time_point time;
  };
  void set_first_origin();
  void move_origin();
  [[nodiscard]] std::chrono::nanoseconds since_origin(const TimedEvent& event) const;

  CudaDevice& device_;
  const Program& program_;
  /// Memory, for GPU and CPU, of the end flags, followed by the optimizer constants.
  SharedMemory memory_;
  std::span<EndFlag> flags_;
  std::span<AdamWStep> constants_;
  StreamFlags stream_flags_;
  /// Events at start and end of each task, for the last kStepsQueued steps.
  std::vector<Events> events_;
  std::mutex clock_mutex_;  ///< Guards origin_; locked only where a task's times are asked for.
  Origin origin_;
};

}  // namespace sluice::engine
