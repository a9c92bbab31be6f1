#include "engine/backends/backend.hpp"

#include <algorithm>
#include <string>

#include "engine/backends/numerics_id.hpp"
#include "engine/cuda/backend/backend.hpp"
#include "engine/host/host_device.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/machines/host_memory.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::engine {
namespace {

/// Throws EnvironmentError if the host lacks `needed` bytes: missing pinned pages would end the
/// process without a message.
void require_host_memory(Bytes needed) {
  const Bytes missing = std::max(Bytes(0), needed - cuda::kept_pinned_memory());
  const auto short_of = planner::shortage(missing, planner::host_memory());
  if (!short_of) return;
  if (short_of->certain) throw EnvironmentError(short_of->line);
  // This is only a warning, because the system may still find memory: caches, swap, a virtual
  // machine that grows.
  sim::warn(short_of->line);
}

}  // namespace

void require_backend(planner::DeviceKind device) {
  if (device == planner::DeviceKind::cuda) cuda::require_backend();
}

DiskPlace disk_place(const planner::ResolvedMachine& machine, const std::filesystem::path& folder) {
  const double depth = machine.profile.disk_depth.value;
  DiskPlace place{.folder = machine.disk_path.value_or(folder)};
  if (depth > 0) place.depth = static_cast<unsigned>(std::min<double>(depth, kMostDepth));
  return place;
}

std::unique_ptr<Device> make_device(const planner::Job& job,
                                    const planner::ResolvedMachine& machine,
                                    const planner::Layout& layout, std::int64_t threads) {
  require_host_memory(layout.host_bytes);
  if (machine.profile.device == planner::DeviceKind::cuda) {
    return cuda::make_device(job, {layout.device_bytes, layout.host_bytes},
                             {machine.hbm, machine.host}, static_cast<int>(threads), machine.staged,
                             machine.paced);
  }
  return std::make_unique<HostDevice>(job, host_device_settings(machine, layout, threads));
}

std::unique_ptr<Device> make_rank_device(const planner::Job& job,
                                         const planner::ResolvedMachine& machine,
                                         const planner::Layout& layout, std::int64_t threads,
                                         World world, World here) {
  const Bytes share(machine.host.count() / world.size);
  if (machine.profile.device == planner::DeviceKind::cuda) {
    return cuda::make_device(job, {layout.device_bytes, layout.host_bytes}, {machine.hbm, share},
                             static_cast<int>(threads), machine.staged, machine.paced, world, here);
  }
  HostDeviceSettings settings = host_device_settings(machine, layout, threads);
  settings.capacity.host = std::min(settings.capacity.host, share);
  return std::make_unique<HostDevice>(job, settings);
}

std::vector<std::unique_ptr<Device>> make_devices(const planner::Job& job,
                                                  const planner::ResolvedMachine& machine,
                                                  const planner::Layout& layout,
                                                  std::int64_t threads, std::int64_t ranks) {
  std::vector<std::unique_ptr<Device>> devices;
  if (ranks == 1) {
    devices.push_back(make_device(job, machine, layout, threads));
    return devices;
  }
  require_host_memory(layout.host_bytes_of(ranks, 1));
  // Pinning is most of a device's time to begin, and takes one core: ranks do it at the same time.
  devices.resize(static_cast<std::size_t>(ranks));
  planner::parallel_for(devices.size(), ranks, [&](std::size_t rank) {
    const World world{static_cast<int>(rank), static_cast<int>(ranks)};
    devices[rank] = make_rank_device(job, machine, layout, threads, world, world);
  });
  return devices;
}

std::shared_ptr<void> keep_host_memory(Bytes at_least) {
  return cuda::keep_pinned_memory(at_least);
}

std::string numerics_id(const planner::Job& job, const planner::ResolvedMachine& machine) {
  return machine.profile.device == planner::DeviceKind::cuda ? cuda::numerics_id(job)
                                                             : host_numerics_id();
}

}  // namespace sluice::engine
