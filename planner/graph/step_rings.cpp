// The rings of a step: slots of equal size for weights, gradients, records and pieces that stream.
#include <algorithm>

#include "planner/graph/staged_state.hpp"
#include "planner/graph/step_tensors.hpp"

namespace sluice::planner {
namespace {

Ring make_ring(GraphWriter& writer, Arena arena, const std::string& name, const std::string& part,
               std::int64_t slots, Bytes bytes, bool counted, Bytes alignment = kPlacementAlign) {
  Ring ring;
  for (std::int64_t i = 0; i < slots; ++i) {
    ring.slots.push_back(
        writer.add_tensor({arena, name + "." + std::to_string(i), bytes, part, false, alignment}));
  }
  if (counted) ring.pool = writer.add_pool(name, bytes * slots);
  return ring;
}

}  // namespace

void StepTensors::add_slots(GraphWriter& writer, const Job& job, const Plan& plan) {
  if (job.sequence_chunk) {
    const Bytes size = context_part(job) * job.chunks_per_sequence();
    context = writer.add_tensor({Arena::device, "context", size, "activations"});
    context_gradient = writer.add_tensor({Arena::device, "context_gradient", size, "activations"});
  }
  if (plan.saved_records.empty()) return;
  const BlockRecord record = block_record(job);
  const auto round = static_cast<std::size_t>(plan.micro_batches_per_round);
  for (std::size_t i = 0; i < plan.saved_records.size(); ++i) {
    const std::size_t unit = 1 + i / round;
    units[unit].host_records.push_back(writer.add_tensor(
        {Arena::host,
         "record.host/" + unit_name(job.model, unit) + "/m" + std::to_string(i % round),
         record.kept(plan.saved_records[i]), "activations"}));
  }
  activation_ring = make_ring(writer, Arena::device, "activation_buffer", "activations",
                              plan.activation_buffers, record.all_bytes, false);
}

void StepTensors::add_rings(GraphWriter& writer, const Job& job, const Plan& plan) {
  // What passes through a ring: how many occupants, and the largest of them.
  struct Traffic {
    std::int64_t occupants = 0, largest = 0;
    void add(std::int64_t size, std::int64_t count = 1) {
      occupants += count;
      largest = std::max(largest, size);
    }
  };
  Traffic weights, gradients, staged, records, io_gradients, states, io_states, pieces,
      disk_weights;
  const BlockRecord record = block_record(job);
  for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
    const UnitPlan& choice = plan.units[unit];
    const std::int64_t size = units[unit].parameters;
    for (const DiskPiece& piece : writer.graph().disk[unit]) {
      pieces.add(piece.buffer_bytes().count());
      if (units[unit].disk_weights) disk_weights.add(piece.weights_bytes.count());
    }
    if (rotates_state(choice)) {
      const bool outer = choice.staging == Staging::ring && !is_block(plan, unit);
      (outer ? io_states : states)
          .add(rotating_bytes(choice, job, units[unit].slice_size()).count());
    }
    if (is_block(plan, unit)) {
      if (passes_weights(choice)) weights.add(size);
      if (streams_gradient(plan, choice)) gradients.add(size);
      if (offloads_record(plan, unit)) {
        records.add(record.kept(choice.keep).count(), plan.micro_batches_per_round);
      }
    } else if (streams_gradient(plan, choice)) {
      io_gradients.add(size);
    }
    if (choice.gradients == Tier::hbm && choice.executor == Executor::cpu) {
      staged.add(units[unit].slice);
    }
  }
  const auto ring = [&](Arena arena, const char* name, const char* part, std::int64_t slots,
                        const Traffic& traffic, std::int64_t element, bool counted) {
    // A slot that nothing ever occupies would only take memory.
    return make_ring(writer, arena, name, part, std::min(slots, traffic.occupants),
                     Bytes(traffic.largest * element), counted && traffic.occupants > 0);
  };
  weight_ring = ring(Arena::device, "weight_buffer", "weights", plan.weight_buffers, weights,
                     job.weight_element().count(), true);
  gradient_ring = ring(Arena::device, "gradient_buffer", "gradients", plan.gradient_buffers,
                       gradients, job.gradient_element().count(), true);
  state_ring = ring(Arena::device, "state_buffer", "staged state",
                    std::max<std::int64_t>(1, plan.state_buffers), states, 1, false);
  if (plan.saved_records.empty())
    activation_ring = ring(Arena::device, "activation_buffer", "activations",
                           plan.activation_buffers, records, 1, false);
  host_gradient_ring = ring(Arena::host, "gradient_stage", "gradients", plan.gradient_buffers,
                            staged, job.gradient_wire_element().count(), false);
  disk_ring = make_ring(writer, Arena::host, "disk_buffer", kDiskBuffers,
                        std::min(plan.disk_buffers, pieces.occupants), Bytes(pieces.largest), false,
                        kDiskAlign);
  disk_weight_ring = make_ring(writer, Arena::host, "disk_weight_buffer", kDiskBuffers,
                               std::min(plan.disk_buffers, disk_weights.occupants),
                               Bytes(disk_weights.largest), false, kDiskAlign);
  if (io_states.occupants > 0) {
    const TensorIndex shared = writer.add_tensor(
        {Arena::device, "state_buffer.io", Bytes(io_states.largest), "staged state"});
    for (const std::size_t unit : {std::size_t{0}, plan.units.size() - 1}) {
      const UnitPlan& choice = plan.units[unit];
      if (rotates_state(choice) && choice.staging == Staging::ring) units[unit].state_slot = shared;
    }
  }
  if (io_gradients.occupants > 0) {
    const TensorIndex shared = writer.add_tensor(
        {Arena::device, "gradient.io", job.gradient_element() * io_gradients.largest, "gradients"});
    for (const std::size_t unit : {std::size_t{0}, plan.units.size() - 1}) {
      if (streams_gradient(plan, plan.units[unit])) units[unit].device_gradient = shared;
    }
  }
}

}  // namespace sluice::planner
