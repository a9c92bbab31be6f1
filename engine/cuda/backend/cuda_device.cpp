#include "engine/cuda/backend/cuda_device.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "engine/cuda/backend/cuda_queues.hpp"
#include "engine/cuda/kernels/adamw.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "engine/cuda/runtime/device_query.hpp"
#include "engine/cuda/runtime/on_device.hpp"
#include "engine/cuda/runtime/usable.hpp"
#include "engine/execution/poll.hpp"
#include "engine/execution/task_operands.hpp"
#include "engine/memory/parallel_memory.hpp"
#include "planner/models/muon.hpp"
#include "sim/units_text.hpp"
#include "sim/warning.hpp"

namespace sluice::engine {

using planner::LaneKind;
using planner::Role;
using planner::TaskKind;

namespace {

const planner::Job& on_usable_device(const planner::Job& job, const CudaDeviceSettings& settings) {
  require_usable_device();
  require_room(settings.arenas, settings.capacity);
  if (settings.world.size > 1) require_gpus(settings.here);
  // Devices of other ranks may have been made on this thread before.
  check_cuda(cudaSetDevice(settings.here.rank), "the device");
  return job;
}

}  // namespace

void require_usable_device() {
  if (const auto why = cuda::why_unusable(cuda::query_devices())) throw EnvironmentError(*why);
}

World gpu_of(World here) {
  int seen = 0;
  if (cudaGetDeviceCount(&seen) != cudaSuccess || seen != 1) return here;
  return World{};
}

void require_gpus(World here) {
  if (const auto why = why_no_gpu_fabric(here.size)) throw EnvironmentError(*why);
}

struct CudaDevice::DeviceMemory {
  DeviceMemory(Bytes bytes, int ranks) : size(static_cast<std::size_t>(bytes.count())) {
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "device memory");
    const auto why = cuda::why_no_memory(bytes, Bytes(static_cast<std::int64_t>(free)),
                                         Bytes(static_cast<std::int64_t>(total)));
    if (why) throw EnvironmentError(*why);
    if (ranks > 1) {
      shared.emplace(size, ranks);
      data = shared->bytes().data();
    } else {
      void* memory = nullptr;
      check_cuda(cudaMalloc(&memory, std::max<std::size_t>(size, 1)), "the device arena");
      data = static_cast<std::byte*>(memory);
    }
    // NaN, so that a read of unwritten memory shows up in the loss.
    check_cuda(cudaMemset(data, 0xFF, size), "the device arena");
    check_cuda(cudaDeviceSynchronize(), "the device arena");
  }
  ~DeviceMemory() {
    if (!shared) cudaFree(data);
  }
  DeviceMemory(const DeviceMemory&) = delete;  // Addresses inside are held by bound tasks.
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  std::byte* data = nullptr;
  std::size_t size;
  std::optional<FabricMemory> shared;  ///< Owner of the memory, with several ranks.
};

struct CudaDevice::Stream {
  explicit Stream(int priority) {
    check_cuda(cudaStreamCreateWithPriority(&value, cudaStreamNonBlocking, priority), "a stream");
  }
  ~Stream() { cudaStreamDestroy(value); }
  Stream(const Stream&) = delete;  // Owns the handle.
  Stream& operator=(const Stream&) = delete;
  cudaStream_t value = nullptr;
};

CudaDevice::CudaDevice(const planner::Job& job, const CudaDeviceSettings& settings)
    : job_(on_usable_device(job, settings)),
      gpu_(settings.here.rank),
      rank_(settings.world.rank),
      record_(planner::block_record(job)),
      device_(std::make_unique<DeviceMemory>(settings.arenas.device, settings.world.size)),
      host_(settings.arenas.host, "host arena", settings.staged ? Pinning::none : Pinning::wanted),
      step_(sizeof(AdamWStep)),
      templates_(job, settings.gemm),
      pool_(settings.threads) {
  open_streams();
  if (job.optimizer.kind == planner::OptimizerKind::muon) {
    muon_ = std::make_unique<CudaMuon>(job, settings.gemm);
  }
  for (std::size_t unit = 0; unit < planner::unit_count(job.model); ++unit) {
    spans_.push_back(adamw_spans(planner::unit_tensors(job.model, unit)));
  }
  if (!host_.pinned()) stage();
  if (!settings.paced || !host_.pinned()) return;
  for (const LaneKind lane : {LaneKind::h2d, LaneKind::d2h}) {
    pacers_[static_cast<std::size_t>(lane)] =
        std::make_unique<StreamPacer>(stream(lane), *settings.paced);
  }
}

/// Streams of the lanes that have work for the GPU: those beyond the driver's eight queues share
/// one with another, and may then wait for it.
void CudaDevice::open_streams() {
  int least = 0, greatest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities of streams");
  const auto open = [&](LaneKind lane, int priority) {
    streams_[static_cast<std::size_t>(lane)] = std::make_unique<Stream>(priority);
  };
  for (const LaneKind lane : {LaneKind::compute, LaneKind::h2d, LaneKind::d2h, LaneKind::launch}) {
    open(lane, least);
  }
  // Blocks of an exchange are few, and go before those of products.
  if (device_->shared) open(LaneKind::fabric, greatest);
}

void CudaDevice::stage() {
  to_device_ = std::make_unique<StagedCopies>(stream(LaneKind::h2d));
  to_host_ = std::make_unique<StagedCopies>(stream(LaneKind::d2h));
  if (host_.refusal().empty()) return;
  sim::warn(planner::format_bytes(Bytes(std::ssize(host_.bytes()))) +
            " of host memory cannot be pinned (" + host_.refusal() +
            "): copies are staged and slower than predicted; raise the locked-memory limit "
            "(ulimit -l), or set --pinned to what can be pinned, so that it is planned for");
}

void CudaDevice::join(const RankLinks& links) {
  if (links.control == nullptr) return;
  check(device_->shared.has_value() && links.world().rank == rank_,
        "a device joins as the rank that it was made for");
  fabric_ = std::make_unique<GpuFabric>(links, *device_->shared, stream(LaneKind::fabric));
}

bool CudaDevice::queues(LaneKind lane) const {
  return lane == LaneKind::compute ||
         ((lane == LaneKind::h2d || lane == LaneKind::d2h) && to_device_ == nullptr) ||
         (lane == LaneKind::fabric && fabric_ != nullptr);
}

CudaDevice::~CudaDevice() = default;

void CudaDevice::share(const std::shared_ptr<SharedArena>& arena) {
  shared_ = arena;
  if (to_device_ != nullptr) return;  // Copies are staged.
  const OnDevice here(gpu_);
  // Ranks that are threads of one process pin it once for all.
  const std::shared_ptr<void> pinned = shared_->keep([&]() -> std::shared_ptr<void> {
    const auto memory = std::make_shared<PinnedMemory>(shared_->mapping());
    if (memory->refusal().empty()) return memory;
    sim::warn(planner::format_bytes(Bytes(std::ssize(shared_->bytes()))) +
              " of memory that ranks share cannot be pinned (" + memory->refusal() +
              "): copies of weights are slower than predicted; raise the locked-memory limit "
              "(ulimit -l), or set plan.gather=fabric");
    return memory;
  });
}

std::span<std::byte> CudaDevice::arena(planner::Arena arena) {
  if (arena == planner::Arena::shared) return shared_ ? shared_->bytes() : std::span<std::byte>{};
  return arena == planner::Arena::device ? std::span(device_->data, device_->size) : host_.bytes();
}

cudaStream_t CudaDevice::stream(LaneKind lane) const {
  return streams_[static_cast<std::size_t>(lane)]->value;
}

void CudaDevice::enter_lane(LaneKind lane) {
  pthread_setname_np(pthread_self(), planner::to_string(lane));
  sleep_precisely();
  check_cuda(cudaSetDevice(gpu_), "the device");
  if (lane == LaneKind::fabric && fabric_ != nullptr) fabric_->connect();
}

void CudaDevice::require_health() const {
  if (fabric_ != nullptr) fabric_->require_health();
}

bool CudaDevice::on_device(const std::byte* address) const {
  return address >= device_->data && address < device_->data + device_->size;
}

std::unique_ptr<DeviceQueues> CudaDevice::open_queues(const Program& program) {
  const OnDevice here(gpu_);
  if (to_device_ != nullptr) {
    // Kernels write these for the CPU to read.
    for (const BoundTask& task : program.tasks()) {
      for (const Role role : {Role::loss_sum, Role::norm_sum}) {
        const BoundAccess* sum = task.find(role);
        if (sum == nullptr) continue;
        host_.pin_part({sum->data, static_cast<std::size_t>(sum->bytes.count())});
      }
    }
  }
  return std::make_unique<CudaQueues>(*this, program);
}

void CudaDevice::run(const BoundTask& task, const AdamWStep& update, Pace /*pace*/) {
  if (task.lane == LaneKind::cpu) {
    update_on_cpu(task, job_, spans_[static_cast<std::size_t>(task.unit)], update, pool_);
    return;
  }
  const OnDevice here(gpu_);
  const BoundAccess* from = task.find(Role::source);
  if (from != nullptr && to_device_ != nullptr && task.lane != LaneKind::fabric) {
    std::byte* to = task.access(Role::destination).data;
    const auto bytes = static_cast<std::size_t>(from->bytes.count());
    return task.lane == LaneKind::h2d ? to_device_->to_device(from->data, to, bytes)
                                      : to_host_->to_host(from->data, to, bytes);
  }
  enqueue(task, new (step_.data()) AdamWStep(update));
  check_cuda(cudaStreamSynchronize(stream(task.lane)),
             std::string("a ") + planner::to_string(task.kind) + " task");
}

void CudaDevice::enqueue(const BoundTask& task, const AdamWStep* update) {
  if (task.lane == LaneKind::fabric) return collect(task);
  const cudaStream_t lane = stream(task.lane);
  if (const BoundAccess* from = task.find(Role::source)) {
    std::byte* const to = task.access(Role::destination).data;
    const auto bytes = static_cast<std::size_t>(from->bytes.count());
    if (const auto& pacer = pacers_[static_cast<std::size_t>(task.lane)]) {
      return pacer->copy(to, from->data, bytes);
    }
    check_cuda(cudaMemcpyAsync(to, from->data, bytes, cudaMemcpyDefault, lane), "a copy");
    return;
  }
  task.kind == TaskKind::update ? this->update(task, update, lane) : compute(task, lane);
}

/// Updates the range of the unit's parameters that the task names, with which its operands begin.
void CudaDevice::update(const BoundTask& task, const AdamWStep* step, cudaStream_t lane) {
  const AdamWOperands operands = adamw_operands(task, job_.gradient_wire);
  const auto unit = static_cast<std::size_t>(task.unit);
  if (planner::muon_updates(job_, unit)) {
    return muon_->update(lane, unit, operands, step, task.access(Role::workspace).data);
  }
  const std::vector<AdamWSpan>& spans = spans_[unit];
  if (job_.optimizer.state != planner::StateType::fp32) {
    return cuda::adamw_update(operands, small_moments(task, job_.optimizer.state), spans,
                              task.first_parameter, step, lane);
  }
  for (const AdamWSpan& span : spans) {
    const std::int64_t begin = std::max<std::int64_t>(span.begin - task.first_parameter, 0);
    const std::int64_t end = std::min(span.end - task.first_parameter, task.parameters);
    if (begin < end) cuda::adamw_update(operands, begin, end, span.decays, step, lane);
  }
}

/// Enqueues a task of the fabric's lane: an exchange, or gathers, each of which names the runs and
/// then, if this rank's own lies elsewhere, its source.
void CudaDevice::collect(const BoundTask& task) {
  if (task.find(Role::received) != nullptr) {
    for (std::size_t i = 0; task.accesses[i].role != Role::received; ++i) {
      const BoundAccess& own = task.accesses[i];
      fabric_->enqueue_exchange(runs_of(task, own), received_of(task, own, i), task.members);
    }
    return;
  }
  for (std::size_t i = 0; i < task.accesses.size(); ++i) {
    // A barrier also names the memory for which ranks wait.
    const bool waits = task.kind == planner::TaskKind::barrier;
    if (waits && task.accesses[i].role != Role::arrivals) continue;
    const RankRuns runs = runs_of(task, task.accesses[i]);
    const bool apart = i + 1 < task.accesses.size() && task.accesses[i + 1].role == Role::source;
    fabric_->enqueue_gather(runs, task.members, apart ? task.accesses[++i].data : nullptr);
  }
}

void CudaDevice::read(const std::byte* source, std::span<std::byte> destination) {
  if (!on_device(source)) {
    std::memcpy(destination.data(), source, destination.size());
    return;
  }
  const OnDevice here(gpu_);
  // This stream belongs to no lane. The default stream would not do: it does not wait for
  // non-blocking streams.
  const cudaStream_t own = stream(LaneKind::launch);
  check_cuda(
      cudaMemcpyAsync(destination.data(), source, destination.size(), cudaMemcpyDeviceToHost, own),
      "a read");
  check_cuda(cudaStreamSynchronize(own), "a read");
}

void CudaDevice::write(std::span<const std::byte> source, std::byte* destination) {
  if (!on_device(destination)) {
    return copy_in_parallel(source.data(), destination, source.size());
  }
  const OnDevice here(gpu_);
  const cudaStream_t own = stream(LaneKind::launch);
  check_cuda(
      cudaMemcpyAsync(destination, source.data(), source.size(), cudaMemcpyHostToDevice, own),
      "a write");
  check_cuda(cudaStreamSynchronize(own), "a write");
}

std::shared_ptr<std::byte> CudaDevice::memory_to_read_into(Bytes bytes) {
  const OnDevice here(gpu_);
  const auto memory = std::make_shared<PinnedMemory>(
      bytes, "snapshot of checkpoints", host_.pinned() ? Pinning::wanted : Pinning::none);
  return {memory, memory->bytes().data()};
}

void CudaDevice::clear(std::byte* destination, std::size_t bytes) {
  if (!on_device(destination)) return zero_in_parallel(destination, bytes);
  const OnDevice here(gpu_);
  const cudaStream_t own = stream(LaneKind::launch);
  check_cuda(cudaMemsetAsync(destination, 0, bytes, own), "zeroing");
  check_cuda(cudaStreamSynchronize(own), "zeroing");
}

}  // namespace sluice::engine
