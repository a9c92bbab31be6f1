#include "engine/training/collective_task.hpp"

#include <cstring>

#include "engine/execution/task_operands.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

using planner::Role;

void run_collective(const BoundTask& task, Fabric& fabric) {
  if (task.find(Role::received) != nullptr) {
    check(task.accesses.front().role != Role::received, "an exchange names the gradient first");
    for (std::size_t i = 0; task.accesses[i].role != Role::received; ++i) {
      const BoundAccess& own = task.accesses[i];
      fabric.exchange(runs_of(task, own), received_of(task, own, i), task.members);
    }
    return;
  }
  for (std::size_t i = 0; i < task.accesses.size(); ++i) {
    const BoundAccess& access = task.accesses[i];
    // A barrier also names the memory for which ranks wait.
    if (task.kind == planner::TaskKind::barrier && access.role != Role::arrivals) continue;
    const bool apart = i + 1 < task.accesses.size() && task.accesses[i + 1].role == Role::source;
    if (apart) {
      std::memcpy(access.data, task.accesses[++i].data,
                  static_cast<std::size_t>(access.bytes.count()));
    }
    fabric.all_gather(runs_of(task, access), task.members);
  }
}

}  // namespace sluice::engine
