#include "engine/backend.hpp"

#include "engine/cuda/backend.hpp"
#include "engine/host/host_device.hpp"
#include "engine/numerics_id.hpp"

namespace sluice::engine {

void require_backend(planner::DeviceKind device) {
  if (device == planner::DeviceKind::cuda) cuda::require_backend();
}

std::unique_ptr<Device> make_device(const planner::Job& job,
                                    const planner::ResolvedMachine& machine,
                                    const planner::Layout& layout, std::int64_t threads) {
  if (machine.profile.device == planner::DeviceKind::cuda) {
    return cuda::make_device(job, {layout.device_bytes, layout.host_bytes},
                             {machine.hbm, machine.host}, static_cast<int>(threads),
                             machine.staged);
  }
  return std::make_unique<HostDevice>(job, host_device_settings(machine, layout, threads));
}

std::string numerics_id(const planner::Job& job, const planner::ResolvedMachine& machine) {
  return machine.profile.device == planner::DeviceKind::cuda ? cuda::numerics_id(job)
                                                             : host_numerics_id();
}

}  // namespace sluice::engine
