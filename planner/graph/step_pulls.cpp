// Weights that every rank pulls whole from memory that the ranks of its host share (Gather::host).
// The CPU, or a copy from the device, writes a rank's slice there; before the first pull of a step
// the ranks of a host wait for each other, once a unit. An update need not wait for the pulls of
// other ranks: it follows the exchange of the unit's gradient, which no rank joins before it has
// used the weights.
//
// On several hosts each has all slices. Before that barrier a rank loads its own slice, which the
// ranks with its place gather on their devices, and stores what came: so each slice enters every
// other host once a step, however often the weights are used. A host of one rank needs no barrier.
#include "planner/graph/step_pulls.hpp"

#include <algorithm>

#include "planner/graph/step_emitter.hpp"

namespace sluice::planner {

void StepTensors::add_shared(GraphWriter& writer, const Job& job, const UnitPlan& choice,
                             const std::string& name, UnitTensorSet& set) {
  set.shared_weights = writer.add_tensor({Arena::shared, "weights.shared/" + name,
                                          job.weight_element() * set.parameters, "weights", true});
  const Bytes low = job.master_bytes(set.slice) - job.weight_element() * set.slice;
  if (choice.state == Tier::disk || low == Bytes(0)) return;
  set.host_low = writer.add_tensor({Arena::host, "low.host/" + name, low, "weights", true});
}

void StepTensors::add_shares(GraphWriter& writer, const Job& job, const Plan& plan) {
  std::int64_t largest = 0, pulled = 0;
  for (const UnitTensorSet& set : units) {
    if (!set.shared_weights) continue;
    ++pulled;
    largest = std::max(largest, set.slice);
  }
  if (pulled == 0) return;
  const std::int64_t local = plan.ranks / plan.hosts;
  if (local > 1) {
    arrivals = writer.add_tensor({Arena::device, "arrivals", kArrival * local, "workspace"});
  }
  if (plan.hosts == 1) return;
  const Bytes bytes = share_buffer_bytes(job, plan, largest);
  for (std::int64_t i = 0; i < std::min(kShareBuffers, pulled); ++i) {
    share_ring.slots.push_back(
        writer.add_tensor({Arena::device, "share_buffer." + std::to_string(i), bytes, "weights"}));
  }
}

Range StepEmitter::host_plane(std::size_t unit, std::int64_t plane) const {
  const UnitTensorSet& set = tensors_.units[unit];
  const Bytes half(2 * set.slice);
  if (!set.shared_weights) return {set.master.value(), half * plane, half};
  if (plane < weight_planes()) return weights_slice(unit, *set.shared_weights, plane);
  return {set.host_low.value(), Bytes(0), half};
}

void StepEmitter::emit_pull(const UnitUse& use, TensorIndex destination,
                            const std::vector<sim::TaskId>& after) {
  const UnitTensorSet& set = tensors_.units[use.unit];
  if (use.round == 0 && use.direction == Direction::forward) emit_share(use.unit);
  const Bytes bytes = job_.weight_element() * set.parameters;
  const auto copied = writer_.add_copy(
      {TaskKind::load_weights, LaneKind::h2d, load_id(use), use.round, static_cast<int>(use.unit)},
      {set.shared_weights.value(), Bytes(0), bytes}, {destination, Bytes(0), bytes},
      plan_.copy_chunk, after);
  if (use.slot) writer_.acquire(copied, tensors_.weight_ring.pool.value());
}

void StepEmitter::emit_barrier(std::size_t unit) {
  if (plan_.ranks == plan_.hosts) return;
  TaskPlace place{TaskKind::barrier, LaneKind::fabric, "barrier/" + name(unit), 0,
                  static_cast<int>(unit)};
  place.among = plan_.hosts == 1 ? Among::all : Among::host;
  const std::int64_t others = plan_.ranks / plan_.hosts - 1;
  writer_.add_collective(
      place, gather_among(place.among), kArrival * others,
      {{Role::arrivals, tensors_.arrivals.value(), Bytes(0), kArrival, Mode::update, kArrival,
        place.among},
       whole(Role::weights, tensors_.units[unit].shared_weights.value(), Mode::update)});
}

void StepEmitter::emit_share(std::size_t unit) {
  if (plan_.hosts == 1) return emit_barrier(unit);
  // As far ahead as there are buffers, so that the network does not wait for copies.
  while (next_sent_ <= head() && sent_ < stored_ + std::ssize(tensors_.share_ring.slots)) {
    const std::size_t next = next_sent_++;
    if (tensors_.units[next].shared_weights) {
      emit_sent_slices(next, tensors_.share_ring.slot(sent_++));
    }
  }
  emit_stored_slices(unit, tensors_.share_ring.slot(stored_++));
  emit_barrier(unit);
}

// The buffer has the slices of one plane host by host, and then those of the next.
void StepEmitter::emit_sent_slices(std::size_t unit, TensorIndex buffer) {
  const Bytes half(2 * tensors_.units[unit].slice);
  std::vector<Access> runs;
  for (std::int64_t plane = 0; plane < weight_planes(); ++plane) {
    const Range own{buffer, half * (plane * plan_.hosts), half, half, Among::hosts};
    writer_.add_copy(
        {TaskKind::load_weights, LaneKind::h2d,
         "share/load/" + name(unit) + "/" + std::to_string(plane), 0, static_cast<int>(unit)},
        host_plane(unit, plane), own, plan_.copy_chunk);
    runs.push_back(
        {Role::weights, buffer, own.offset, half, Mode::update, own.rank_stride, own.among});
  }
  TaskPlace between{TaskKind::gather_weights, LaneKind::fabric, "gather/between/" + name(unit), 0,
                    static_cast<int>(unit)};
  between.among = plan_.ranks == plan_.hosts ? Among::all : Among::hosts;
  writer_.add_collective(between, gather_among(between.among),
                         half * (weight_planes() * (plan_.hosts - 1)), std::move(runs));
}

void StepEmitter::emit_stored_slices(std::size_t unit, TensorIndex buffer) {
  const std::int64_t hosts = plan_.hosts, local = plan_.ranks / hosts;
  const Bytes half(2 * tensors_.units[unit].slice);
  for (std::int64_t plane = 0; plane < weight_planes(); ++plane) {
    for (std::int64_t host = 0; host < hosts; ++host) {
      Range home = host_plane(unit, plane);
      home.offset += home.rank_stride * (host * local);
      home.among = Among::host;
      writer_.add_copy(
          {TaskKind::store_weights, LaneKind::d2h,
           "share/store/" + name(unit) + "/" + std::to_string(plane) + "/h" + std::to_string(host),
           0, static_cast<int>(unit)},
          {buffer, half * (plane * hosts + host), half}, home, plan_.copy_chunk);
    }
  }
}

}  // namespace sluice::planner
