#include "engine/host/unit_slots.hpp"

#include <string_view>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

Slot find(const planner::UnitTensors& unit, std::string_view ending) {
  for (const planner::TensorSpec& tensor : unit.tensors) {
    if (std::string_view(tensor.name).ends_with(ending)) {
      return {tensor.offset, tensor.rows, tensor.cols};
    }
  }
  return {};
}

Projection projection(const planner::UnitTensors& unit, std::string_view name) {
  const std::string prefix(name);
  return {find(unit, prefix + ".weight"), find(unit, prefix + ".bias")};
}

ExpertSlots expert_slots(const planner::UnitTensors& unit, const planner::ModelShape& shape) {
  const planner::ExpertNames names = planner::expert_names(shape.family);
  const auto matrix = [&](const std::string& ending, std::int64_t expert) {
    return find(unit, names.experts + std::to_string(expert) + ending);
  };
  ExpertSlots slots{.router = find(unit, names.router),
                    .gate = matrix(names.gate, 0),
                    .up = matrix(names.up, 0),
                    .down = matrix(names.down, 0)};
  const std::int64_t last = shape.experts->count - 1;
  if (last > 0) slots.stride = matrix(names.gate, 1).offset - slots.gate.offset;
  check(slots.router.exists() && slots.gate.exists() && slots.up.exists() && slots.down.exists() &&
            slots.of(slots.down, last).offset == matrix(names.down, last).offset,
        "a block has a router, and experts one behind the other");
  return slots;
}

}  // namespace

BlockSlots block_slots(const planner::ModelShape& shape) {
  const planner::UnitTensors unit = planner::unit_tensors(shape, 1);
  BlockSlots slots;
  slots.input_norm = find(unit, "input_layernorm.weight");
  slots.post_norm = find(unit, "post_attention_layernorm.weight");
  slots.q_norm = find(unit, "self_attn.q_norm.weight");
  slots.k_norm = find(unit, "self_attn.k_norm.weight");
  slots.q = projection(unit, "self_attn.q_proj");
  slots.k = projection(unit, "self_attn.k_proj");
  slots.v = projection(unit, "self_attn.v_proj");
  slots.o = projection(unit, "self_attn.o_proj");
  if (shape.experts) {
    slots.experts = expert_slots(unit, shape);
  } else {
    slots.gate = projection(unit, "mlp.gate_proj");
    slots.up = projection(unit, "mlp.up_proj");
    slots.down = projection(unit, "mlp.down_proj");
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
  slots.embedding = find(embed, "embed_tokens.weight");
  slots.final_norm = find(head, "norm.weight");
  slots.lm_head = find(head, "lm_head.weight");
  slots.embed_padded = embed.padded_size;
  slots.head_padded = head.padded_size;
  check(slots.embedding.exists() && slots.final_norm.exists() &&
            slots.lm_head.exists() != shape.tied_head,
        "the head has a norm, and a matrix unless it is tied");
  return slots;
}

}  // namespace sluice::engine
