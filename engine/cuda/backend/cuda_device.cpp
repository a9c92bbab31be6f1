#include "engine/cuda/backend/cuda_device.hpp"

#include <pthread.h>

#include <cstring>

#include "engine/cuda/backend/cuda_queues.hpp"
#include "engine/cuda/kernels/adamw.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "engine/cuda/runtime/device_query.hpp"
#include "engine/cuda/runtime/usable.hpp"
#include "engine/execution/poll.hpp"
#include "engine/execution/task_operands.hpp"
#include "engine/memory/parallel_memory.hpp"
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
  return job;
}

}  // namespace

void require_usable_device() {
  if (const auto why = cuda::why_unusable(cuda::query_devices())) throw EnvironmentError(*why);
}

struct CudaDevice::DeviceMemory {
  explicit DeviceMemory(Bytes bytes) : size(static_cast<std::size_t>(bytes.count())) {
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "device memory");
    const auto why = cuda::why_no_memory(bytes, Bytes(static_cast<std::int64_t>(free)),
                                         Bytes(static_cast<std::int64_t>(total)));
    if (why) throw EnvironmentError(*why);
    void* memory = nullptr;
    check_cuda(cudaMalloc(&memory, std::max<std::size_t>(size, 1)), "the device arena");
    data = static_cast<std::byte*>(memory);
    // NaN, so that a read of unwritten memory shows up in the loss.
    check_cuda(cudaMemset(data, 0xFF, size), "the device arena");
    check_cuda(cudaDeviceSynchronize(), "the device arena");
  }
  ~DeviceMemory() { cudaFree(data); }
  DeviceMemory(const DeviceMemory&) = delete;  // Addresses inside are held by bound tasks.
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  std::byte* data = nullptr;
  std::size_t size;
};

struct CudaDevice::Stream {
  Stream() { check_cuda(cudaStreamCreateWithFlags(&value, cudaStreamNonBlocking), "a stream"); }
  ~Stream() { cudaStreamDestroy(value); }
  Stream(const Stream&) = delete;  // Owns the handle.
  Stream& operator=(const Stream&) = delete;
  cudaStream_t value = nullptr;
};

CudaDevice::CudaDevice(const planner::Job& job, const CudaDeviceSettings& settings)
    : job_(on_usable_device(job, settings)),
      record_(planner::block_record(job)),
      device_(std::make_unique<DeviceMemory>(settings.arenas.device)),
      host_(settings.arenas.host, "host arena", settings.staged ? Pinning::none : Pinning::wanted),
      step_(sizeof(AdamWStep)),
      templates_(job, settings.gemm),
      pool_(settings.threads) {
  for (auto& stream : streams_) stream = std::make_unique<Stream>();
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

void CudaDevice::stage() {
  to_device_ = std::make_unique<StagedCopies>(stream(LaneKind::h2d));
  to_host_ = std::make_unique<StagedCopies>(stream(LaneKind::d2h));
  if (host_.refusal().empty()) return;
  sim::warn(planner::format_bytes(Bytes(std::ssize(host_.bytes()))) +
            " of host memory cannot be pinned (" + host_.refusal() +
            "): copies are staged and slower than predicted; raise the locked-memory limit "
            "(ulimit -l), or set --pinned to what can be pinned, so that it is planned for");
}

bool CudaDevice::queues(LaneKind lane) const {
  return lane == LaneKind::compute ||
         ((lane == LaneKind::h2d || lane == LaneKind::d2h) && to_device_ == nullptr);
}

CudaDevice::~CudaDevice() = default;

std::span<std::byte> CudaDevice::arena(planner::Arena arena) {
  return arena == planner::Arena::device ? std::span(device_->data, device_->size) : host_.bytes();
}

cudaStream_t CudaDevice::stream(LaneKind lane) const {
  return streams_[static_cast<std::size_t>(lane)]->value;
}

void CudaDevice::enter_lane(LaneKind lane) {
  pthread_setname_np(pthread_self(), planner::to_string(lane));
  sleep_precisely();
  check_cuda(cudaSetDevice(0), "the device");
}

bool CudaDevice::on_device(const std::byte* address) const {
  return address >= device_->data && address < device_->data + device_->size;
}

std::unique_ptr<DeviceQueues> CudaDevice::open_queues(const Program& program) {
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
    adamw_update(adamw_operands(task, job_.gradient_wire),
                 spans_[static_cast<std::size_t>(task.unit)], update, pool_, pool_.threads(),
                 {task.first_parameter, task.parameters});
    return;
  }
  const BoundAccess* from = task.find(Role::source);
  if (from != nullptr && to_device_ != nullptr) {
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
  if (task.kind != TaskKind::update) return compute(task, lane);
  const AdamWOperands operands = adamw_operands(task, job_.gradient_wire);
  for (const AdamWSpan& span : spans_[static_cast<std::size_t>(task.unit)]) {
    cuda::adamw_update(operands, span.begin, span.end, span.decays, update, lane);
  }
}

void CudaDevice::read(const std::byte* source, std::span<std::byte> destination) {
  if (!on_device(source)) {
    std::memcpy(destination.data(), source, destination.size());
    return;
  }
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
  const cudaStream_t own = stream(LaneKind::launch);
  check_cuda(
      cudaMemcpyAsync(destination, source.data(), source.size(), cudaMemcpyHostToDevice, own),
      "a write");
  check_cuda(cudaStreamSynchronize(own), "a write");
}

std::shared_ptr<std::byte> CudaDevice::memory_to_read_into(Bytes bytes) {
  const auto memory = std::make_shared<PinnedMemory>(
      bytes, "snapshot of checkpoints", host_.pinned() ? Pinning::wanted : Pinning::none);
  return {memory, memory->bytes().data()};
}

void CudaDevice::clear(std::byte* destination, std::size_t bytes) {
  if (!on_device(destination)) return zero_in_parallel(destination, bytes);
  const cudaStream_t own = stream(LaneKind::launch);
  check_cuda(cudaMemsetAsync(destination, 0, bytes, own), "zeroing");
  check_cuda(cudaStreamSynchronize(own), "zeroing");
}

}  // namespace sluice::engine
