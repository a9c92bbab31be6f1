// The cuda backend: one GPU with a stream for each of its lanes, and the optimizer on the CPU.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "engine/cuda/copies/pinned_memory.hpp"
#include "engine/cuda/copies/staged_copies.hpp"
#include "engine/cuda/copies/stream_pacer.hpp"
#include "engine/cuda/fabric/gpu_fabric.hpp"
#include "engine/cuda/layers/muon_update.hpp"
#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/runtime/shared_memory.hpp"
#include "engine/execution/device.hpp"
#include "engine/optimizer/thread_pool.hpp"

namespace sluice::engine {

/// Settings of a CudaDevice that do not follow from the job.
struct CudaDeviceSettings {
  ArenaSizes arenas;  ///< Sizes of the arenas that the plan's layout needs.
  /// Largest sizes that the arenas may have: the machine's capacity, or the part of it that a run
  /// may use.
  ArenaSizes capacity;
  int threads = 1;  ///< Number of threads that update weights on the cpu lane.
  /// Whether the host arena is ordinary memory, whose copies go through a small pinned ring, for
  /// systems that can pin only little. If the arena turns out not to be pinnable this happens in
  /// any case, with a line on standard error.
  bool staged = false;
  /// Rate to which copies in each direction are slowed down, to imitate a slower link; none for the
  /// link's own speed. Without effect on a host arena that is not pinned.
  std::optional<BytesPerSecond> paced{};
  /// Tuned algorithms of the job's matrix products; none for cuBLASLt's first suggestions.
  std::optional<GemmTable> gemm{};
  World world{};  ///< The rank whose device it is, among all.
  World here{};   ///< Number of its GPU, and how many GPUs ranks of this host take by number.
};

/// Throws EnvironmentError unless there is a usable GPU of compute capability 8.0 or newer.
void require_usable_device();
/// The GPU of a rank that has the place `here` among those of its host: the one of that number, or
/// the only one that this process sees, where a launcher gives each rank its own.
[[nodiscard]] World gpu_of(World here);
/// Throws EnvironmentError unless there is an equal GPU for each rank of this host, and NCCL.
void require_gpus(World here);

/// The device of the CUDA backend: one GPU, with a stream for each of its lanes, and the optimizer
/// on the CPU. Allocates device and pinned host memory once, at construction; no device memory is
/// allocated later. `run` enqueues a task on its lane's stream and waits for it; training steps use
/// the queues (engine/cuda/backend/cuda_queues.hpp), which do not wait.
class CudaDevice : public Device {
 public:
  /// Throws Error(does_not_fit) if an arena is larger than its capacity, EnvironmentError if the
  /// memory or a GPU of compute capability 8.0 or newer is missing, or with several ranks NCCL,
  /// BadRequest for a job that the backend does not compute.
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
  /// Zeroed host memory that `read` can copy into; pinned if the host arena is.
  [[nodiscard]] std::shared_ptr<std::byte> memory_to_read_into(Bytes bytes) override;
  void join(const RankLinks& links) override;
  /// Keeps the memory and, if the host arena is pinned, pins it, with a warning where the system
  /// refuses.
  void share(const std::shared_ptr<SharedArena>& arena) override;
  [[nodiscard]] bool moves_between_ranks() const override { return fabric_ != nullptr; }
  [[nodiscard]] std::unique_ptr<DeviceQueues> open_queues(const Program& program) override;

  /// Whether a stream of the GPU runs the tasks of `lane`; otherwise a thread of the CPU does, also
  /// for copies that are staged because the host arena is not pinned.
  [[nodiscard]] bool queues(planner::LaneKind lane) const;
  /// Enqueues a task on the stream of its lane (see queues()). `update`, the optimizer's constants
  /// of the step, must be in memory that the GPU can read.
  void enqueue(const BoundTask& task, const AdamWStep* update);
  [[nodiscard]] cudaStream_t stream(planner::LaneKind lane) const;
  /// Throws RankFailure if another rank failed, or a collective that was enqueued.
  void require_health() const;

 private:
  struct DeviceMemory;
  struct Stream;
  void open_streams();
  void update(const BoundTask& task, const AdamWStep* step, cudaStream_t stream);
  void collect(const BoundTask& task);
  void compute(const BoundTask& task, cudaStream_t stream);
  void forward(const BoundTask& task, cudaStream_t stream);
  void route(const BoundTask& task, cudaStream_t stream);
  void finish(const BoundTask& task, cudaStream_t stream);
  void norm(const BoundTask& task, cudaStream_t stream);
  void sum_ranks(const BoundTask& task, cudaStream_t stream);
  void sum_norms(const BoundTask& task, cudaStream_t stream);
  void stage();
  [[nodiscard]] CudaRecord record_of(const BoundTask& task) const;
  [[nodiscard]] CudaLossArguments loss_arguments(const BoundTask& task) const;
  [[nodiscard]] bool on_device(const std::byte* address) const;

  planner::Job job_;
  int gpu_;   ///< Number of the device's GPU among those that CUDA shows.
  int rank_;  ///< The rank whose device it is.
  planner::BlockRecord record_;
  /// Stretches of each unit's parameters that have weight decay or have none, by unit.
  std::vector<std::vector<AdamWSpan>> spans_;
  std::unique_ptr<DeviceMemory> device_;
  PinnedMemory host_;
  std::shared_ptr<SharedArena> shared_;  ///< Null where no weights are shared.
  /// Optimizer constants, readable by the GPU, of an update that `run` executes and waits for.
  SharedMemory step_;
  std::array<std::unique_ptr<Stream>, planner::kLaneKinds> streams_;
  /// Collectives with other ranks' devices; null for one rank.
  std::unique_ptr<GpuFabric> fabric_;
  CudaTemplates templates_;
  std::unique_ptr<CudaMuon> muon_;  ///< Updates of blocks by Muon; null for other optimizers.
  /// Tokens that the next forward pass computes, in graphs of ForwardGoal::next_token.
  SequencePart part_;
  ThreadPool pool_;  ///< Threads that update weights on the cpu lane.
  /// Copies in each direction through small pinned rings; null if the host arena is pinned.
  std::unique_ptr<StagedCopies> to_device_, to_host_;
  /// Pacers that slow down the copies of each lane; null for lanes that run at full speed.
  std::array<std::unique_ptr<StreamPacer>, planner::kLaneKinds> pacers_;
};

}  // namespace sluice::engine
