#include "planner/graph/unit_memory.hpp"

#include "planner/graph/staged_state.hpp"
#include "planner/models/group_tree.hpp"
#include "planner/models/slices.hpp"
#include "planner/plans/disk_state.hpp"

namespace sluice::planner {

UnitMemory unit_memory(const Job& job, const UnitPlan& unit, std::int64_t rounds,
                       const UnitSize& size, std::int64_t ranks) {
  const UnitSize sizes = slice_of(size, ranks);
  const std::int64_t slice = sizes.parameters;
  const Bytes state = state_bytes(job, sizes);
  const Bytes weights = job.weight_element() * (slice * ranks);
  const Bytes gradient = job.gradient_element() * (slice * ranks);
  UnitMemory memory;
  const bool sliced = unit.resident == Extent::slice;
  if (unit.state == Tier::hbm) {
    // All slices of the weights in compute are resident, unless they are gathered for each use.
    memory.resident = sliced ? state : state - job.weight_element() * slice + weights;
  } else {
    memory.host_state = state;
    if (!streams_weights(unit)) memory.resident = sliced ? job.weight_element() * slice : weights;
  }
  if (passes_weights(unit)) memory.streamed = weights;
  if (stages_state(unit)) memory.staged = staged_bytes(unit, job, sizes);
  const bool as_slice = waits_as_slice(ranks, rounds, unit);
  const bool streams = streams_gradient(rounds, unit) || as_slice;
  (streams ? memory.passing_gradient : memory.waiting_gradient) = gradient;
  if (as_slice) memory.waiting_gradient = job.gradient_element() * slice;
  if (job.groups > 1) {
    const std::int64_t sums = sums_between_rounds(job.micro_batches(), job.groups, rounds);
    (stores_gradient(unit) ? memory.host_group_sums : memory.group_sums) = gradient * sums;
  }
  if (rounds == 1 && rotates_under_backward(unit)) return memory;
  if (stores_gradient(unit)) {
    // Between rounds a rank's own sum waits whole, after the last round the slice of all ranks'
    // sum.
    memory.host_gradient = waiting_element(job, rounds) * (rounds > 1 ? slice * ranks : slice);
  } else if (unit.executor == Executor::cpu) {
    memory.gradient_stage = job.gradient_wire_element() * slice;
  }
  return memory;
}

}  // namespace sluice::planner
