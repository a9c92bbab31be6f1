#include "engine/training/collective_task.hpp"

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using planner::Role;

/// The ranges of all ranks, of which `access` is that of the task's rank.
RankRuns runs_of(const BoundTask& task, const BoundAccess& access) {
  const auto stride = static_cast<std::size_t>(access.rank_stride.count());
  return {access.data - static_cast<std::size_t>(task.rank) * stride,
          static_cast<std::size_t>(access.bytes.count()), stride};
}

}  // namespace

void run_collective(const BoundTask& task, Fabric& fabric) {
  if (const BoundAccess* received = task.find(Role::received)) {
    const auto bytes = static_cast<std::size_t>(received->bytes.count());
    const BoundAccess& own = task.accesses.front();
    check(own.role != Role::received, "an exchange names the gradient first");
    return fabric.exchange(runs_of(task, own), {received->data, bytes});
  }
  for (const BoundAccess& access : task.accesses) fabric.all_gather(runs_of(task, access));
}

}  // namespace sluice::engine
