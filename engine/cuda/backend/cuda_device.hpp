// The cuda backend: one GPU, a stream for each lane that is its, and the CPU optimizer beside it.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "engine/cuda/copies/pinned_memory.hpp"
#include "engine/cuda/copies/staged_copies.hpp"
#include "engine/cuda/copies/stream_pacer.hpp"
#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/runtime/shared_memory.hpp"
#include "engine/execution/device.hpp"
#include "engine/optimizer/thread_pool.hpp"

namespace sluice::engine {

/// What is set about a CUDA device: the rest follows from job and layout.
struct CudaDeviceSettings {
  ArenaSizes arenas;    ///< From the layout.
  ArenaSizes capacity;  ///< What the machine has, or a run may use.
  int threads = 1;      ///< Of the optimizer on the cpu lane.
  /// Ordinary host memory, copied through a pinned ring: for systems that pin little. Also what
  /// happens, with a line on standard error, where the arena turns out not to be pinnable.
  bool staged = false;
  std::optional<BytesPerSecond> paced{};  ///< Copies each way take as long as at this rate.
  std::optional<GemmTable> gemm{};        ///< None: cuBLASLt's first suggestions.
};

/// Throws EnvironmentError unless a GPU of compute capability 8.0 or newer answers.
void require_usable_device();

/// One allocation of HBM and one of pinned host memory, made at construction; nothing allocates
/// device memory later. `run` enqueues a task on its lane's stream and waits for it; steps run
/// through the queues (engine/cuda/backend/cuda_queues.hpp), which do not wait.
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
  void place(SequencePart part) override { part_ = part; }
  [[nodiscard]] double loss_only(const BoundTask& task) override;
  void read(const std::byte* source, std::span<std::byte> destination) override;
  void write(std::span<const std::byte> source, std::byte* destination) override;
  void clear(std::byte* destination, std::size_t bytes) override;
  /// Pinned, where the host arena is.
  [[nodiscard]] std::shared_ptr<std::byte> memory_to_read_into(Bytes bytes) override;
  [[nodiscard]] std::unique_ptr<DeviceQueues> open_queues(const Program& program) override;

  /// Whether a stream runs the lane; staged copies are run by their lanes' threads.
  [[nodiscard]] bool queues(planner::LaneKind lane) const;
  /// Enqueues a task of a stream's lane. `update` lies in shared memory.
  void enqueue(const BoundTask& task, const AdamWStep* update);
  [[nodiscard]] cudaStream_t stream(planner::LaneKind lane) const;

 private:
  struct DeviceMemory;
  struct Stream;
  void compute(const BoundTask& task, cudaStream_t stream);
  void forward(const BoundTask& task, cudaStream_t stream);
  void route(const BoundTask& task, cudaStream_t stream);
  void finish(const BoundTask& task, cudaStream_t stream);
  void stage();
  [[nodiscard]] CudaRecord record_of(const BoundTask& task) const;
  [[nodiscard]] CudaLossArguments loss_arguments(const BoundTask& task) const;
  [[nodiscard]] bool on_device(const std::byte* address) const;

  planner::Job job_;
  planner::BlockRecord record_;
  std::vector<std::vector<AdamWSpan>> spans_;  ///< By unit.
  std::unique_ptr<DeviceMemory> device_;
  PinnedMemory host_;
  SharedMemory step_;  ///< Constants of an update that is run and waited for.
  std::array<std::unique_ptr<Stream>, planner::kLaneKinds> streams_;
  CudaTemplates templates_;
  SequencePart part_;                                  ///< Of graphs of ForwardGoal::next_token.
  ThreadPool pool_;                                    ///< Of the cpu lane.
  std::unique_ptr<StagedCopies> to_device_, to_host_;  ///< Where the host arena is not pinned.
  std::array<std::unique_ptr<StreamPacer>, planner::kLaneKinds>
      pacers_;  ///< Where copies are held.
};

}  // namespace sluice::engine
