// The cuda backend: one GPU, a stream for each lane that is its, and the CPU optimizer beside it.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <memory>
#include <vector>

#include "engine/cuda/pinned_memory.hpp"
#include "engine/cuda/templates.hpp"
#include "engine/device.hpp"
#include "engine/thread_pool.hpp"

namespace sluice::engine {

/// What is set about a CUDA device: the rest follows from job and layout.
struct CudaDeviceSettings {
  ArenaSizes arenas;    ///< From the layout.
  ArenaSizes capacity;  ///< What the machine has, or a run may use.
  int threads = 1;      ///< Of the optimizer on the cpu lane.
};

/// Throws EnvironmentError unless a GPU of compute capability 8.0 or newer answers.
void require_usable_device();

/// One allocation of HBM and one of pinned host memory, made at construction. A lane's tasks are
/// enqueued on the lane's stream by the lane's thread, which waits for each to end; so every edge
/// of the step graph is an edge between threads. Nothing allocates device memory later.
class CudaDevice : public Device {
 public:
  /// Throws Error(does_not_fit) where an arena is larger than its capacity, EnvironmentError where
  /// there is no GPU of compute capability 8.0 or newer or no such memory, BadRequest for a job the
  /// templates do not compute.
  CudaDevice(const planner::Job& job, const CudaDeviceSettings& settings);
  ~CudaDevice() override;

  [[nodiscard]] std::span<std::byte> arena(planner::Arena arena) override;
  void enter_lane(planner::LaneKind lane) override;
  void run(const BoundTask& task, const AdamWStep& update, Pace pace) override;
  [[nodiscard]] double loss_only(const BoundTask& task) override;
  void read(const std::byte* source, std::span<std::byte> destination) override;
  void write(std::span<const std::byte> source, std::byte* destination) override;

 private:
  struct DeviceMemory;
  struct Stream;
  void compute(const BoundTask& task, cudaStream_t stream);
  void update(const BoundTask& task, const AdamWStep& step);
  [[nodiscard]] CudaRecord record_of(const BoundTask& task) const;
  [[nodiscard]] CudaLossArguments loss_arguments(const BoundTask& task) const;
  [[nodiscard]] bool on_device(const std::byte* address) const;
  [[nodiscard]] cudaStream_t stream(planner::LaneKind lane) const;

  planner::Job job_;
  planner::BlockRecord record_;
  std::vector<std::vector<AdamWSpan>> spans_;  ///< By unit.
  std::unique_ptr<DeviceMemory> device_;
  PinnedMemory host_;
  std::array<std::unique_ptr<Stream>, planner::kLaneKinds> streams_;
  CudaTemplates templates_;
  ThreadPool pool_;  ///< Of the cpu lane.
};

}  // namespace sluice::engine
