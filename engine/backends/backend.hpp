// Chooses the backend, among those in this build, that a machine profile asks for.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "engine/disk/disk_store.hpp"
#include "engine/execution/device.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::engine {

/// Throws EnvironmentError with advice if this build or this computer lacks the backend of
/// `device`.
void require_backend(planner::DeviceKind device);

/// Creates a device of the machine's backend with the arenas of `layout`. `threads`: workers of the
/// CPU optimizer. Throws Error(does_not_fit) if an arena is larger than the machine's capacity,
/// EnvironmentError if this build or this computer lacks the backend or the memory, BadRequest for
/// a model that the backend cannot compute.
[[nodiscard]] std::unique_ptr<Device> make_device(const planner::Job& job,
                                                  const planner::ResolvedMachine& machine,
                                                  const planner::Layout& layout,
                                                  std::int64_t threads);

/// Folder and I/O settings of the disk file of a run on this machine; the file goes to `folder` if
/// the machine names no folder.
[[nodiscard]] DiskPlace disk_place(const planner::ResolvedMachine& machine,
                                   const std::filesystem::path& folder);

/// Keeps pinned host memory for reuse while the returned object lives: a new device's host arena
/// takes over the pages of a destroyed one. For processes that run many plans; `at_least` is the
/// largest plan's arena. Null if this build's backends do not need it.
[[nodiscard]] std::shared_ptr<void> keep_host_memory(Bytes at_least = Bytes(0));

/// Hash of everything that decides which bits runs of `job` compute with this machine's backend on
/// this computer: equal jobs with equal ids give equal bits. Throws as make_device does.
[[nodiscard]] std::string numerics_id(const planner::Job& job,
                                      const planner::ResolvedMachine& machine);

}  // namespace sluice::engine
