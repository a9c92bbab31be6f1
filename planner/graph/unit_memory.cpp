#include "planner/graph/unit_memory.hpp"

#include "planner/graph/staged_state.hpp"
#include "planner/models/group_tree.hpp"
#include "planner/plans/disk_state.hpp"

namespace sluice::planner {

UnitMemory unit_memory(const Job& job, const UnitPlan& unit, std::int64_t rounds,
                       std::int64_t parameters) {
  const Bytes state = job.master_bytes(parameters) + job.moment_bytes(parameters) * 2;
  const Bytes weights = job.weight_element() * parameters;
  const Bytes gradient = job.gradient_element() * parameters;
  UnitMemory memory;
  if (unit.state == Tier::hbm) {
    memory.resident = state;
  } else {
    memory.host_state = state;
    (streams_weights(unit) ? memory.streamed : memory.resident) = weights;
  }
  if (stages_state(unit)) memory.staged = staged_bytes(unit, job, parameters);
  const bool streams = streams_gradient(rounds, unit);
  (streams ? memory.passing_gradient : memory.waiting_gradient) = gradient;
  if (job.groups > 1) {
    const std::int64_t sums = sums_between_rounds(job.micro_batches(), job.groups, rounds);
    (stores_gradient(unit) ? memory.host_group_sums : memory.group_sums) = gradient * sums;
  }
  if (rounds == 1 && rotates_under_backward(unit)) return memory;
  if (stores_gradient(unit)) {
    memory.host_gradient = waiting_element(job, rounds) * parameters;
  } else if (unit.executor == Executor::cpu) {
    memory.gradient_stage = job.gradient_wire_element() * parameters;
  }
  return memory;
}

}  // namespace sluice::planner
