// Copies of a step graph: cut into chunks, timed, and counted by pools.
#include <algorithm>

#include "planner/costs/cost_key.hpp"
#include "planner/graph/graph_writer.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

CopyDirection direction_of(LaneKind lane) {
  switch (lane) {
    case LaneKind::h2d:
      return CopyDirection::h2d;
    case LaneKind::d2h:
      return CopyDirection::d2h;
    case LaneKind::disk_read:
      return CopyDirection::disk_read;
    case LaneKind::disk_write:
      return CopyDirection::disk_write;
    case LaneKind::compute:
    case LaneKind::cpu:
    case LaneKind::launch:
    case LaneKind::fabric:
      break;
  }
  throw std::logic_error("contract broken: a copy runs on a lane of copies");
}

}  // namespace

/// The task of a copy from one range to another that moves `bytes`.
StepTask GraphWriter::copy_task(const TaskPlace& place, Range source, Range destination,
                                Bytes bytes, const CostKey& key) const {
  StepTask task{.kind = place.kind, .lane = place.lane};
  task.bytes = bytes;
  if (names_tasks()) task.cost = key;
  task.accesses = {{Role::source, source.tensor, source.offset, source.bytes, Mode::read,
                    source.rank_stride, source.among},
                   {Role::destination, destination.tensor, destination.offset, destination.bytes,
                    Mode::write, destination.rank_stride, destination.among}};
  return task;
}

const GraphWriter::PricedCopy& GraphWriter::priced_copy(CopyDirection direction, Bytes bytes) {
  auto found = copies_.find({direction, bytes});
  if (found == copies_.end()) {
    const CostKey key = copy_key(direction, bytes);
    PricedCopy priced{key, timed(costs_.copy(key, direction, bytes))};
    found = copies_.emplace(std::pair(direction, bytes), std::move(priced)).first;
  }
  return found->second;
}

GraphWriter::CopyTasks GraphWriter::add_copy(const TaskPlace& place, Range source,
                                             Range destination, Bytes chunk,
                                             const std::vector<sim::TaskId>& after,
                                             int first_chunk) {
  check(source.bytes == destination.bytes && source.bytes.count() > 0,
        "a copy's ranges have one size");
  const Bytes step = chunk.count() > 0 ? chunk : source.bytes;
  const CopyDirection direction = direction_of(place.lane);
  CopyTasks copied{sim::TaskId{}, sim::TaskId{}, 0};
  TaskPlace chunk_place = place;
  for (Bytes done{0}; done < source.bytes; done += step, ++copied.chunks) {
    const Bytes bytes = std::min(step, source.bytes - done);
    const PricedCopy& priced = priced_copy(direction, bytes);
    const int number = first_chunk + copied.chunks;
    StepTask task = copy_task(
        place, {source.tensor, source.offset + done, bytes, source.rank_stride, source.among},
        {destination.tensor, destination.offset + done, bytes, destination.rank_stride,
         destination.among},
        bytes, priced.key);
    task.chunk = number;
    if (names_tasks()) chunk_place.id = place.id + "/c" + std::to_string(number);
    copied.last = add(chunk_place, std::move(task), priced.timed, after);
    if (copied.chunks == 0) copied.first = copied.last;
  }
  return copied;
}

sim::TaskId GraphWriter::add_selected_copy(const TaskPlace& place, Range source, Range destination,
                                           Bytes expected, Access selection) {
  check(source.bytes == destination.bytes && expected.count() > 0 && expected <= source.bytes,
        "a copy's ranges have one size, and parts of it are moved");
  const PricedCopy& priced = priced_copy(direction_of(place.lane), expected);
  StepTask task = copy_task(place, source, destination, expected, priced.key);
  task.accesses.push_back(selection);
  return add(place, std::move(task), priced.timed, {});
}

void GraphWriter::acquire(const CopyTasks& tasks, sim::PoolId pool) {
  for (std::size_t i = index(tasks.first); i <= index(tasks.last); ++i) {
    acquire(sim::TaskId(static_cast<std::uint32_t>(i)), pool, result_.tasks[i].bytes);
  }
}

void GraphWriter::release(const CopyTasks& tasks, sim::PoolId pool, Bytes rest) {
  for (std::size_t i = index(tasks.first); i <= index(tasks.last); ++i) {
    const Bytes more = i == index(tasks.last) ? rest : Bytes(0);
    release(sim::TaskId(static_cast<std::uint32_t>(i)), pool, result_.tasks[i].bytes + more);
  }
}

}  // namespace sluice::planner
