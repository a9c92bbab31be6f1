#include "engine/host/host_device.hpp"

#include <cblas.h>
#include <pthread.h>

#include <cstring>

#include "engine/execution/poll.hpp"
#include "engine/memory/parallel_memory.hpp"
#include "planner/models/muon.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::engine {

using planner::Role;
using planner::TaskKind;

namespace {

const HostDeviceSettings& checked(const HostDeviceSettings& settings) {
  require_room(settings.arenas, settings.capacity);
  return settings;
}

/// Runs a small product, because OpenBLAS maps its packing buffers at the first product that needs
/// them, which must not be one of a step.
void map_blas_buffers() {
  constexpr int kSize = 256;
  constexpr std::size_t kElements = std::size_t{kSize} * kSize;
  std::vector<float> a(kElements), b(kElements), c(kElements);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSize, kSize, kSize, 1.0F, a.data(), kSize,
              b.data(), kSize, 0.0F, c.data(), kSize);
}

}  // namespace

HostDeviceSettings host_device_settings(const planner::ResolvedMachine& machine,
                                        const planner::Layout& layout, std::int64_t threads) {
  const Seconds latency = machine.profile.copy_latency.value;
  return {.arenas = {layout.device_bytes, layout.host_bytes},
          .capacity = {machine.hbm, machine.host},
          .h2d = {machine.profile.h2d.value, latency},
          .d2h = {machine.profile.d2h.value, latency},
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
    const planner::UnitTensors tensors = planner::unit_tensors(job.model, unit);
    spans_.push_back(adamw_spans(tensors));
    muon_.push_back(planner::muon_updates(job, unit) ? muon_unit(job.optimizer.muon, tensors)
                                                     : MuonUnit{});
    padded_.push_back(planner::unit_padded_size(job.model, unit));
  }
}

std::span<std::byte> HostDevice::arena(planner::Arena arena) {
  if (arena == planner::Arena::shared) return shared_ ? shared_->bytes() : std::span<std::byte>{};
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
    case TaskKind::store_weights:
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
    case TaskKind::combine:
      return add_tied(task);
    case TaskKind::sum_groups:
      return sum_groups(task);
    case TaskKind::sum_ranks:
      return sum_ranks(task);
    case TaskKind::norm:
      return norm(task);
    case TaskKind::sum_norms:
      return sum_norms(task);
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
    case TaskKind::host_pass:
    case TaskKind::gather_weights:
    case TaskKind::exchange_gradients:
    case TaskKind::gather_norms:
    case TaskKind::barrier:
      break;
  }
  check(false, "the device runs copies, compute and updates");
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

}  // namespace sluice::engine
