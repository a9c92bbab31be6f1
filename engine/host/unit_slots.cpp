#include "engine/host/unit_slots.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using planner::TensorRole;

Slot slot_of(const planner::TensorSpec& tensor) {
  return {tensor.offset, tensor.rows, tensor.cols};
}

/// The first tensor of this role; none where the unit lacks it.
Slot find(const planner::UnitTensors& unit, TensorRole role) {
  const auto found = std::ranges::find(unit.tensors, role, &planner::TensorSpec::role);
  return found == unit.tensors.end() ? Slot{} : slot_of(*found);
}

/// The last tensor of this role; none where the unit lacks it.
Slot find_last(const planner::UnitTensors& unit, TensorRole role) {
  Slot last;
  for (const planner::TensorSpec& tensor : unit.tensors) {
    if (tensor.role == role) last = slot_of(tensor);
  }
  return last;
}

Projection projection(const planner::UnitTensors& unit, TensorRole weight, TensorRole bias) {
  return {find(unit, weight), find(unit, bias)};
}

ExpertSlots expert_slots(const planner::UnitTensors& unit, const planner::ModelShape& shape) {
  ExpertSlots slots{.router = find(unit, TensorRole::router),
                    .gate = find(unit, TensorRole::expert_gate),
                    .up = find(unit, TensorRole::expert_up),
                    .down = find(unit, TensorRole::expert_down)};
  const std::int64_t last = shape.experts->count - 1;
  if (last > 0) slots.stride = planner::expert_range(shape).stride;
  check(slots.router.exists() && slots.gate.exists() && slots.up.exists() && slots.down.exists() &&
            slots.of(slots.down, last).offset == find_last(unit, TensorRole::expert_down).offset,
        "a block has a router, and experts one behind the other");
  return slots;
}

}  // namespace

BlockSlots block_slots(const planner::ModelShape& shape) {
  const planner::UnitTensors unit = planner::unit_tensors(shape, 1);
  BlockSlots slots;
  slots.input_norm = find(unit, TensorRole::norm_before_attention);
  slots.post_norm = find(unit, TensorRole::norm_before_mlp);
  slots.q_norm = find(unit, TensorRole::q_norm);
  slots.k_norm = find(unit, TensorRole::k_norm);
  slots.q = projection(unit, TensorRole::q, TensorRole::q_bias);
  slots.k = projection(unit, TensorRole::k, TensorRole::k_bias);
  slots.v = projection(unit, TensorRole::v, TensorRole::v_bias);
  slots.o = projection(unit, TensorRole::o, TensorRole::o_bias);
  if (shape.experts) {
    slots.experts = expert_slots(unit, shape);
  } else {
    slots.gate = projection(unit, TensorRole::gate, TensorRole::gate_bias);
    slots.up = projection(unit, TensorRole::up, TensorRole::up_bias);
    slots.down = projection(unit, TensorRole::down, TensorRole::down_bias);
  }
  slots.padded = unit.padded_size;
  check(slots.input_norm.exists() && slots.post_norm.exists() && slots.q.weight.exists() &&
            slots.k.weight.exists() && slots.v.weight.exists() && slots.o.weight.exists() &&
            (shape.experts || (slots.gate.weight.exists() && slots.up.weight.exists() &&
                               slots.down.weight.exists())),
        "a block has its two norms, four projections of attention, and a feed-forward network");
  return slots;
}

EndSlots end_slots(const planner::ModelShape& shape) {
  const planner::UnitTensors embed = planner::unit_tensors(shape, 0);
  const planner::UnitTensors head = planner::unit_tensors(shape, planner::unit_count(shape) - 1);
  EndSlots slots;
  slots.embedding = find(embed, TensorRole::embedding);
  slots.final_norm = find(head, TensorRole::final_norm);
  slots.lm_head = find(head, TensorRole::head);
  slots.embed_padded = embed.padded_size;
  slots.head_padded = head.padded_size;
  check(slots.embedding.exists() && slots.final_norm.exists() &&
            slots.lm_head.exists() != shape.tied_head,
        "the head has a norm, and a matrix unless it is tied");
  return slots;
}

}  // namespace sluice::engine
