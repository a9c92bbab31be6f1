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
  slots.gate = projection(unit, "mlp.gate_proj");
  slots.up = projection(unit, "mlp.up_proj");
  slots.down = projection(unit, "mlp.down_proj");
  slots.padded = unit.padded_size;
  check(slots.input_norm.exists() && slots.post_norm.exists() && slots.q.weight.exists() &&
            slots.k.weight.exists() && slots.v.weight.exists() && slots.o.weight.exists() &&
            slots.gate.weight.exists() && slots.up.weight.exists() && slots.down.weight.exists(),
        "a block has its two norms and seven projections");
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
