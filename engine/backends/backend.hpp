// Chooses the backend, among those in this build, that a machine profile asks for.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/disk/disk_store.hpp"
#include "engine/execution/device.hpp"
#include "engine/ranks/world.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::engine {

/// Throws EnvironmentError with advice if this build or this computer lacks the backend (host or
/// cuda) of `device`.
void require_backend(planner::DeviceKind device);

/// Creates a device of the machine's backend (host or cuda) with the arenas of `layout`. `threads`:
/// number of threads that update weights on the CPU. Throws Error(does_not_fit) if an arena is
/// larger than the machine's capacity, EnvironmentError if this build or this computer lacks the
/// backend or the memory, BadRequest for a model that the backend cannot compute.
[[nodiscard]] std::unique_ptr<Device> make_device(const planner::Job& job,
                                                  const planner::ResolvedMachine& machine,
                                                  const planner::Layout& layout,
                                                  std::int64_t threads);

/// Creates a device for each of `ranks` ranks of one host, as make_device does; together they may
/// take as much host memory as one may. Rank r of a CUDA machine has GPU r.
[[nodiscard]] std::vector<std::unique_ptr<Device>> make_devices(
    const planner::Job& job, const planner::ResolvedMachine& machine, const planner::Layout& layout,
    std::int64_t threads, std::int64_t ranks);

/// Creates the device of one rank of `world` that is a process, as make_devices does; `here` is its
/// place among the ranks of its host. The machine is that of all ranks.
[[nodiscard]] std::unique_ptr<Device> make_rank_device(const planner::Job& job,
                                                       const planner::ResolvedMachine& machine,
                                                       const planner::Layout& layout,
                                                       std::int64_t threads, World world,
                                                       World here);

/// Where the disk file of a run on this machine is made, which is `folder` if the machine names
/// none, and how its blocks are moved.
[[nodiscard]] DiskPlace disk_place(const planner::ResolvedMachine& machine,
                                   const std::filesystem::path& folder);

/// Keeps pinned host memory for reuse while the returned object lives: a new device's host arena
/// takes over the pages of a destroyed one. For processes that run many plans; `at_least` is the
/// size of the largest plan's host arena. Null in a build without CUDA, whose devices pin nothing.
[[nodiscard]] std::shared_ptr<void> keep_host_memory(Bytes at_least = Bytes(0));

/// Numerics id of `job` on this computer with this machine's backend: a hash of everything that
/// decides which bits a run computes, so that equal jobs with equal ids give equal bits. Throws
/// EnvironmentError or BadRequest where make_device does.
[[nodiscard]] std::string numerics_id(const planner::Job& job,
                                      const planner::ResolvedMachine& machine);

}  // namespace sluice::engine
