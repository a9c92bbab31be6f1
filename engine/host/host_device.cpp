#include "engine/host/host_device.hpp"

#include <cblas.h>
#include <pthread.h>

#include <cstring>

#include "engine/parallel_memory.hpp"
#include "engine/poll.hpp"
#include "planner/units_text.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

using planner::Role;
using planner::TaskKind;

namespace {

void require_capacity(Bytes needed, Bytes capacity, const char* what) {
  if (needed <= capacity) return;
  throw Error(ExitCode::does_not_fit,
              std::string("the plan needs ") + planner::format_exact(needed) + " of " + what +
                  " and " + planner::format_exact(capacity) +
                  " may be used: raise limits, or let the planner choose another plan");
}

const HostDeviceSettings& checked(const HostDeviceSettings& settings) {
  require_capacity(settings.arenas.device, settings.capacity.device, "hbm");
  require_capacity(settings.arenas.host, settings.capacity.host, "host memory");
  return settings;
}

template <class T>
T* as(const BoundAccess& access) {
  return reinterpret_cast<T*>(access.data);
}

Workspace workspace_of(const BoundTask& task) {
  const BoundAccess* access = task.find(Role::workspace);
  return access == nullptr ? Workspace{} : Workspace{access->data, access->bytes};
}

/// OpenBLAS maps its packing buffers at the first product that needs them, and keeps them: it must
/// not be a product of a step.
void map_blas_buffers() {
  constexpr int kSize = 256;
  constexpr std::size_t kElements = std::size_t{kSize} * kSize;
  std::vector<float> a(kElements), b(kElements), c(kElements);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSize, kSize, kSize, 1.0F, a.data(), kSize,
              b.data(), kSize, 0.0F, c.data(), kSize);
}

std::int64_t floats(const BoundAccess& access) { return access.bytes.count() / 4; }

}  // namespace

HostDeviceSettings host_device_settings(const planner::ResolvedMachine& machine,
                                        const planner::Layout& layout, std::int64_t threads) {
  const Seconds latency(machine.profile.copy_latency.value);
  return {.arenas = {layout.device_bytes, layout.host_bytes},
          .capacity = {machine.hbm, machine.host},
          .h2d = {BytesPerSecond(machine.profile.h2d.value), latency},
          .d2h = {BytesPerSecond(machine.profile.d2h.value), latency},
          .threads = static_cast<int>(threads)};
}

HostDevice::HostDevice(const planner::Job& job, const HostDeviceSettings& settings)
    : job_(job),
      record_(planner::block_record(job)),
      settings_(checked(settings)),
      templates_(job),
      device_(settings.arenas.device, "device arena"),
      host_(settings.arenas.host, "host arena"),
      pool_(settings.threads) {
  map_blas_buffers();
  for (std::size_t unit = 0; unit < planner::unit_count(job.model); ++unit) {
    spans_.push_back(adamw_spans(planner::unit_tensors(job.model, unit)));
  }
}

std::span<std::byte> HostDevice::arena(planner::Arena arena) {
  return arena == planner::Arena::device ? device_.bytes() : host_.bytes();
}

void HostDevice::enter_lane(planner::LaneKind lane) {
  pthread_setname_np(pthread_self(), planner::to_string(lane));
  if (lane == planner::LaneKind::h2d || lane == planner::LaneKind::d2h) sleep_precisely();
}

void HostDevice::run(const BoundTask& task, const AdamWStep& step, Pace pace) {
  switch (task.kind) {
    case TaskKind::load_tokens:
    case TaskKind::load_weights:
    case TaskKind::load_experts:
    case TaskKind::load_gradient:
    case TaskKind::load_activation:
    case TaskKind::load_state:
    case TaskKind::save_activation:
    case TaskKind::store_gradient:
    case TaskKind::store_state:
      return copy(task, pace);
    case TaskKind::forward:
      return forward(task);
    case TaskKind::route:
      return route(task);
    case TaskKind::loss:
      return finish(task);
    case TaskKind::recompute:
      return recompute(task);
    case TaskKind::backward:
      return backward(task);
    case TaskKind::combine: {
      const BoundAccess& addend = task.access(Role::tied_gradient);
      return combine(as<float>(task.access(Role::gradient)), as<float>(addend), floats(addend));
    }
    case TaskKind::norm:
      return norm(task);
    case TaskKind::update:
      return update(task, step);
    case TaskKind::data:
    case TaskKind::launch:
    case TaskKind::grads:
    case TaskKind::read_state:
    case TaskKind::write_state:
    case TaskKind::write_gradient:
    case TaskKind::read_gradient:
    case TaskKind::read_weights:
    case TaskKind::write_weights:
      break;
  }
  check(false, "the device runs copies, compute and updates");
}

double HostDevice::loss_only(const BoundTask& task) {
  return templates_.loss_only(loss_arguments(task), workspace_of(task));
}

void HostDevice::read(const std::byte* source, std::span<std::byte> destination) {
  std::memcpy(destination.data(), source, destination.size());
}

void HostDevice::write(std::span<const std::byte> source, std::byte* destination) {
  std::memcpy(destination, source.data(), source.size());
}

void HostDevice::clear(std::byte* destination, std::size_t bytes) {
  zero_in_parallel(destination, bytes);
}

void HostDevice::copy(const BoundTask& task, Pace pace) const {
  const BoundAccess& from = task.access(Role::source);
  const BoundAccess& to = task.access(Role::destination);
  const auto bytes = static_cast<std::size_t>(from.bytes.count());
  if (pace == Pace::unlimited) {
    std::memcpy(to.data, from.data, bytes);
    return;
  }
  paced_copy({from.data, bytes}, {to.data, bytes},
             task.lane == planner::LaneKind::h2d ? settings_.h2d : settings_.d2h);
}

Weights HostDevice::weights_of(const BoundAccess& access) const {
  const auto* high = as<std::uint16_t>(access);
  if (job_.compute == planner::ComputeType::bf16) return {high, nullptr};
  return {high, high + access.bytes.count() / 4};
}

RecordView HostDevice::record_of(const BoundTask& task) const {
  RecordView view{.record = nullptr,
                  .full = nullptr,
                  .kept = record_.input_bytes,
                  .input = task.access(Role::input).data};
  if (const BoundAccess* kept = task.find(Role::record)) {
    view.record = kept->data - record_.input_bytes.count();
    view.kept = record_.input_bytes + kept->bytes;
  }
  if (const BoundAccess* full = task.find(Role::full_record)) view.full = full->data;
  if (const BoundAccess* tokens = task.find(Role::tokens))
    view.documents = as<std::int32_t>(*tokens);
  return view;
}

/// Of a part of a sequence there may be fewer than the graph has room for.
std::int64_t HostDevice::part_tokens() const {
  return job_.sequence_chunk ? part_.count : job_.micro_tokens();
}

void HostDevice::forward(const BoundTask& task) const {
  const Weights weights = weights_of(task.access(Role::weights));
  std::byte* output = task.access(Role::next_input).data;
  if (is_embed(task)) {
    templates_.embed_forward(weights, as<std::int32_t>(task.access(Role::tokens)), part_tokens(),
                             output);
  } else if (task.find(Role::routes) != nullptr) {
    if (part_.count == 0) return;
    templates_.block_experts(weights, record_of(task), part_.count, output, workspace_of(task));
  } else if (const BoundAccess* kept = task.find(Role::key_values)) {
    if (part_.count == 0) return;
    templates_.block_extend(weights, record_of(task), {kept->data, part_.first, part_.count},
                            output, workspace_of(task));
  } else {
    templates_.block_forward(weights, record_of(task), output, workspace_of(task));
  }
}

void HostDevice::route(const BoundTask& task) const {
  const BoundAccess& routes = task.access(Role::routes);
  // Of no tokens: none to any expert.
  if (part_.count == 0) {
    std::memset(routes.data, 0, static_cast<std::size_t>(routes.bytes.count()));
    return;
  }
  templates_.block_route(weights_of(task.access(Role::weights)), record_of(task),
                         {task.access(Role::key_values).data, part_.first, part_.count},
                         as<std::int32_t>(routes), workspace_of(task));
}

/// The head: loss and its backward, the loss alone, or the logits of the last token.
void HostDevice::finish(const BoundTask& task) const {
  if (const BoundAccess* logits = task.find(Role::logits)) {
    if (part_.count == 0) return;
    const LossArguments arguments = loss_arguments(task);
    const std::int64_t row = job_.model.hidden * job_.compute_element().count();
    templates_.logits(arguments.head, arguments.embed, arguments.input + (part_.count - 1) * row, 1,
                      as<float>(*logits), workspace_of(task));
    return;
  }
  const LossArguments arguments = loss_arguments(task);
  *as<double>(task.access(Role::loss_sum)) =
      arguments.gradient == nullptr ? templates_.loss_only(arguments, workspace_of(task))
                                    : templates_.loss(arguments, workspace_of(task));
  if (const BoundAccess* balance = task.find(Role::balance_loss)) {
    *as<double>(*balance) = templates_.balance_loss(arguments.input);
  }
}

void HostDevice::recompute(const BoundTask& task) const {
  const RecordView record = record_of(task);
  const planner::Keep from =
      record.kept == record_.input_bytes ? planner::Keep::input : planner::Keep::selective;
  templates_.block_recompute(weights_of(task.access(Role::weights)), record, from,
                             workspace_of(task));
}

void HostDevice::backward(const BoundTask& task) const {
  auto* gradient = as<float>(task.access(Role::gradient));
  std::byte* stream_gradient = task.access(Role::stream_gradient).data;
  if (is_embed(task)) {
    templates_.embed_backward(as<std::int32_t>(task.access(Role::tokens)), stream_gradient,
                              gradient, task.first);
  } else {
    templates_.block_backward(weights_of(task.access(Role::weights)), gradient, task.first,
                              record_of(task), stream_gradient, workspace_of(task));
  }
}

LossArguments HostDevice::loss_arguments(const BoundTask& task) const {
  LossArguments arguments{};
  arguments.head = weights_of(task.access(Role::weights));
  if (const BoundAccess* embed = task.find(Role::tied_weights)) {
    arguments.embed = weights_of(*embed);
  }
  arguments.input = task.access(Role::input).data;
  if (const BoundAccess* tokens = task.find(Role::tokens)) {
    arguments.targets = as<std::int32_t>(*tokens);
  }
  const BoundAccess* gradient = task.find(Role::gradient);
  if (gradient == nullptr) return arguments;
  if (const BoundAccess* tied = task.find(Role::tied_gradient)) {
    arguments.tied_gradient = as<float>(*tied);
  }
  arguments.scale = static_cast<float>(1.0 / static_cast<double>(job_.tokens()));
  arguments.gradient = as<float>(*gradient);
  arguments.first = task.first;
  arguments.stream_gradient = task.access(Role::stream_gradient).data;
  return arguments;
}

/// The norm is that of the fp32 gradient; for a bf16 wire the gradient is then rounded in place, so
/// that the update reads the same halves wherever the gradient waits.
void HostDevice::norm(const BoundTask& task) const {
  const BoundAccess& gradient = task.access(Role::gradient);
  const BoundAccess& blocks = task.access(Role::norm_blocks);
  norm_blocks(as<float>(gradient), floats(gradient), as<double>(blocks));
  double sum = 0;
  for (const double each : std::span(as<double>(blocks), blocks.bytes.count() / sizeof(double))) {
    sum += each;
  }
  *as<double>(task.access(Role::norm_sum)) = sum;
  if (job_.gradient_wire == planner::GradientWire::bf16) {
    round_gradient(as<float>(gradient), floats(gradient), as<std::uint16_t>(gradient));
  }
}

void HostDevice::update(const BoundTask& task, const AdamWStep& step) {
  const AdamWOperands operands{
      .high = as<std::uint16_t>(task.access(Role::weights)),
      .low = as<std::uint16_t>(task.access(Role::low)),
      .m = as<float>(task.access(Role::moment1)),
      .v = as<float>(task.access(Role::moment2)),
      .gradient = task.access(Role::gradient).data,
      .wire = job_.gradient_wire,
  };
  const bool on_device = task.lane == planner::LaneKind::compute;
  ThreadPool& pool = on_device ? single_ : pool_;
  adamw_update(operands, spans_[static_cast<std::size_t>(task.unit)], step, pool, pool.threads(),
               {task.first_parameter, task.parameters});
}

}  // namespace sluice::engine
