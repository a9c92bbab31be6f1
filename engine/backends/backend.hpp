// The backend that a machine profile stands for, in this build.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "engine/disk/disk_store.hpp"
#include "engine/execution/device.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::engine {

/// Throws EnvironmentError where this build or this computer lacks the backend, with the fix.
void require_backend(planner::DeviceKind device);

/// A device of the machine's backend with the arenas of `layout`; `threads` of the CPU optimizer.
/// Throws Error(does_not_fit) where an arena is larger than the machine's capacity,
/// EnvironmentError where this build or this computer lacks the backend or the memory, BadRequest
/// for a model the backend cannot compute.
[[nodiscard]] std::unique_ptr<Device> make_device(const planner::Job& job,
                                                  const planner::ResolvedMachine& machine,
                                                  const planner::Layout& layout,
                                                  std::int64_t threads);

/// Where a run on the machine keeps what lives on the disk; `folder` where the machine names none.
[[nodiscard]] DiskPlace disk_place(const planner::ResolvedMachine& machine,
                                   const std::filesystem::path& folder);

/// While what it returns lives, a device's host arena takes over the pages of one that is gone: for
/// processes that run many plans, of which the largest takes `at_least`. Null where this build's
/// backends have no use for it.
[[nodiscard]] std::shared_ptr<void> keep_host_memory(Bytes at_least = Bytes(0));

/// The numerics id of runs of `job` on the machine's backend here; throws as make_device.
[[nodiscard]] std::string numerics_id(const planner::Job& job,
                                      const planner::ResolvedMachine& machine);

}  // namespace sluice::engine
