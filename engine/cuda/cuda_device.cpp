#include "engine/cuda/cuda_device.hpp"

#include <pthread.h>

#include <cstdio>
#include <cstring>

#include "engine/cuda/adamw.hpp"
#include "engine/cuda/check.hpp"
#include "engine/cuda/cuda_queues.hpp"
#include "engine/cuda/device_query.hpp"
#include "engine/cuda/kernels/gradient.hpp"
#include "engine/cuda/usable.hpp"
#include "engine/poll.hpp"
#include "engine/zero.hpp"
#include "planner/units_text.hpp"

namespace sluice::engine {

using planner::LaneKind;
using planner::Role;
using planner::TaskKind;

namespace {

template <class T>
T* as(const BoundAccess& access) {
  return reinterpret_cast<T*>(access.data);
}

std::int64_t floats(const BoundAccess& access) { return access.bytes.count() / 4; }

std::byte* workspace_of(const BoundTask& task) { return task.access(Role::workspace).data; }

cuda::Into into_of(const BoundTask& task) {
  return task.first ? cuda::Into::overwrite : cuda::Into::accumulate;
}

void require_capacity(Bytes needed, Bytes capacity, const char* what) {
  if (needed <= capacity) return;
  throw Error(ExitCode::does_not_fit,
              std::string("the plan needs ") + planner::format_exact(needed) + " of " + what +
                  " and " + planner::format_exact(capacity) +
                  " may be used: raise limits, or let the planner choose another plan");
}

const planner::Job& on_usable_device(const planner::Job& job, const CudaDeviceSettings& settings) {
  require_usable_device();
  require_capacity(settings.arenas.device, settings.capacity.device, "hbm");
  require_capacity(settings.arenas.host, settings.capacity.host, "host memory");
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
    // NaN, so that reading what no task has written shows up in the loss.
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
  std::fprintf(stderr,
               "sluice: %s of host memory cannot be pinned (%s): copies are staged and slower than "
               "predicted; raise the locked-memory limit (ulimit -l), or set --pinned to what can "
               "be pinned, so that it is planned for\n",
               planner::format_bytes(Bytes(std::ssize(host_.bytes()))).c_str(),
               host_.refusal().c_str());
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
    // What kernels write for the CPU to read.
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
    adamw_update(operands_of(task), spans_[static_cast<std::size_t>(task.unit)], update, pool_,
                 pool_.threads(), {task.first_parameter, task.parameters});
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
  const AdamWOperands operands = operands_of(task);
  for (const AdamWSpan& span : spans_[static_cast<std::size_t>(task.unit)]) {
    cuda::adamw_update(operands, span.begin, span.end, span.decays, update, lane);
  }
}

CudaRecord CudaDevice::record_of(const BoundTask& task) const {
  CudaRecord record{.input = task.access(Role::input).data, .kept = record_.input_bytes};
  if (const BoundAccess* kept = task.find(Role::record)) {
    record.record = kept->data - record_.input_bytes.count();
    record.kept = record_.input_bytes + kept->bytes;
  }
  if (const BoundAccess* full = task.find(Role::full_record)) record.full = full->data;
  if (const BoundAccess* tokens = task.find(Role::tokens)) {
    record.documents = as<const std::int32_t>(*tokens);
  }
  return record;
}

CudaLossArguments CudaDevice::loss_arguments(const BoundTask& task) const {
  const auto* head = as<const std::uint16_t>(task.access(Role::weights));
  const std::int64_t lm_head = templates_.ends().lm_head.offset;
  CudaLossArguments arguments{.head = head,
                              .lm_head = head + lm_head,
                              .input = task.access(Role::input).data,
                              .targets = nullptr,
                              .scale = static_cast<float>(1.0 / static_cast<double>(job_.tokens())),
                              .gradient = nullptr,
                              .lm_head_gradient = nullptr,
                              .into = into_of(task),
                              .stream_gradient = nullptr,
                              .loss_sum = nullptr};
  if (const BoundAccess* tokens = task.find(Role::tokens)) {
    arguments.targets = as<std::int32_t>(*tokens);
  }
  if (const BoundAccess* sum = task.find(Role::loss_sum)) arguments.loss_sum = as<double>(*sum);
  const BoundAccess* tied = task.find(Role::tied_weights);
  if (tied != nullptr) {
    arguments.lm_head = as<const std::uint16_t>(*tied) + templates_.ends().embedding.offset;
  }
  const BoundAccess* gradient = task.find(Role::gradient);
  if (gradient == nullptr) return arguments;
  arguments.gradient = as<float>(*gradient);
  arguments.lm_head_gradient = tied == nullptr ? arguments.gradient + lm_head
                                               : as<float>(task.access(Role::tied_gradient)) +
                                                     templates_.ends().embedding.offset;
  arguments.stream_gradient = task.access(Role::stream_gradient).data;
  return arguments;
}

void CudaDevice::forward(const BoundTask& task, cudaStream_t lane) {
  const auto* weights = as<const std::uint16_t>(task.access(Role::weights));
  std::byte* output = task.access(Role::next_input).data;
  // Of a part of a sequence there may be fewer tokens than the graph has room for.
  const std::int64_t count = job_.sequence_chunk ? part_.count : job_.micro_tokens();
  if (count == 0) return;
  if (task.unit == 0) {
    return templates_.embed_forward(lane, weights, as<std::int32_t>(task.access(Role::tokens)),
                                    count, output);
  }
  if (const BoundAccess* kept = task.find(Role::key_values)) {
    return templates_.block_extend(lane, weights, record_of(task),
                                   {as<std::uint16_t>(*kept), part_.first, count}, output,
                                   workspace_of(task));
  }
  templates_.block_forward(lane, weights, record_of(task), output, workspace_of(task));
}

/// The head: loss and its backward, the loss alone, or the logits of the last token.
void CudaDevice::finish(const BoundTask& task, cudaStream_t lane) {
  const CudaLossArguments arguments = loss_arguments(task);
  if (const BoundAccess* logits = task.find(Role::logits)) {
    if (part_.count == 0) return;
    const std::int64_t row = 2 * job_.model.hidden;
    return templates_.logits(lane, arguments.head, arguments.lm_head,
                             arguments.input + (part_.count - 1) * row, as<float>(*logits),
                             workspace_of(task));
  }
  if (arguments.gradient == nullptr) {
    return templates_.loss_only(lane, arguments, workspace_of(task));
  }
  templates_.loss(lane, arguments, workspace_of(task));
}

void CudaDevice::compute(const BoundTask& task, cudaStream_t lane) {
  const bool embed = task.unit == 0;
  switch (task.kind) {
    case TaskKind::forward:
      return forward(task, lane);
    case TaskKind::loss:
      return finish(task, lane);
    case TaskKind::recompute: {
      const CudaRecord record = record_of(task);
      const planner::Keep from =
          record.kept == record_.input_bytes ? planner::Keep::input : planner::Keep::selective;
      return templates_.block_recompute(lane, as<const std::uint16_t>(task.access(Role::weights)),
                                        record, from, workspace_of(task));
    }
    case TaskKind::backward: {
      auto* gradient = as<float>(task.access(Role::gradient));
      std::byte* stream_gradient = task.access(Role::stream_gradient).data;
      if (embed) {
        return templates_.embed_backward(lane, as<std::int32_t>(task.access(Role::tokens)),
                                         stream_gradient, gradient, into_of(task));
      }
      return templates_.block_backward(lane, as<const std::uint16_t>(task.access(Role::weights)),
                                       gradient, into_of(task), record_of(task), stream_gradient,
                                       workspace_of(task));
    }
    case TaskKind::combine: {
      const BoundAccess& addend = task.access(Role::tied_gradient);
      return cuda::combine(lane, as<float>(task.access(Role::gradient)), as<float>(addend),
                           floats(addend));
    }
    case TaskKind::norm: {
      const BoundAccess& gradient = task.access(Role::gradient);
      const BoundAccess& blocks = task.access(Role::norm_blocks);
      cuda::norm_blocks(lane, as<float>(gradient), floats(gradient), as<double>(blocks));
      cuda::sum_blocks(lane, as<double>(blocks), blocks.bytes.count() / 8,
                       as<double>(task.access(Role::norm_sum)));
      if (job_.gradient_wire == planner::GradientWire::bf16) {
        cuda::round_to_bf16(lane, as<float>(gradient), floats(gradient),
                            as<std::uint16_t>(gradient));
      }
      return;
    }
    default:
      check(false, "the device runs copies, compute and updates");
  }
}

AdamWOperands CudaDevice::operands_of(const BoundTask& task) const {
  return {
      .high = as<std::uint16_t>(task.access(Role::weights)),
      .low = as<std::uint16_t>(task.access(Role::low)),
      .m = as<float>(task.access(Role::moment1)),
      .v = as<float>(task.access(Role::moment2)),
      .gradient = task.access(Role::gradient).data,
      .wire = job_.gradient_wire,
  };
}

double CudaDevice::loss_only(const BoundTask& task) {
  const CudaLossArguments arguments = loss_arguments(task);
  templates_.loss_only(stream(LaneKind::compute), arguments, workspace_of(task));
  check_cuda(cudaStreamSynchronize(stream(LaneKind::compute)), "a loss");
  double sum = 0;
  read(reinterpret_cast<const std::byte*>(arguments.loss_sum),
       std::as_writable_bytes(std::span(&sum, 1)));
  return sum;
}

void CudaDevice::read(const std::byte* source, std::span<std::byte> destination) {
  if (!on_device(source)) {
    std::memcpy(destination.data(), source, destination.size());
    return;
  }
  // On a stream of no lane: copies on the default stream would wait for none of ours anyway.
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
