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
  using enum TensorRole;
  ExpertSlots slots{.router = projection(unit, router, router_bias),
                    .correction_bias = find(unit, correction_bias),
                    .gate = projection(unit, expert_gate, expert_gate_bias),
                    .up = projection(unit, expert_up, expert_up_bias),
                    .down = projection(unit, expert_down, expert_down_bias)};
  const std::int64_t last = shape.experts->count - 1;
  if (last > 0) slots.stride = planner::expert_range(shape).stride;
  check(slots.router.weight.exists() && slots.gate.weight.exists() && slots.up.weight.exists() &&
            slots.down.weight.exists() &&
            slots.of(slots.down, last).weight.offset == find_last(unit, expert_down).offset,
        "a block has a router, and experts one behind the other");
  return slots;
}

DeltaSlots delta_slots(const planner::UnitTensors& unit) {
  using enum TensorRole;
  const DeltaSlots slots{.beta = {find(unit, delta_beta), {}},
                         .decay = {find(unit, delta_decay), {}},
                         .conv = find(unit, delta_conv),
                         .log_rate = find(unit, delta_log_rate),
                         .time_bias = find(unit, delta_time_bias),
                         .norm = find(unit, delta_norm)};
  check(slots.beta.weight.exists() && slots.decay.weight.exists() && slots.conv.exists() &&
            slots.log_rate.exists() && slots.time_bias.exists() && slots.norm.exists(),
        "a gated delta net has rates, decays, a convolution and a norm");
  return slots;
}

LatentSlots latent_slots(const planner::UnitTensors& unit) {
  using enum TensorRole;
  const LatentSlots slots{.query = projection(unit, q_latent, q_latent_bias),
                          .query_norm = find(unit, q_latent_norm),
                          .key = projection(unit, kv_latent, kv_latent_bias),
                          .key_norm = find(unit, kv_latent_norm),
                          .shared = projection(unit, shared_key, shared_key_bias)};
  check(slots.key.weight.exists() && slots.key_norm.exists() && slots.shared.weight.exists() &&
            slots.query.weight.exists() == slots.query_norm.exists(),
        "latent attention has narrow projections with norms, and a shared key");
  return slots;
}

}  // namespace

BlockSlots block_slots(const planner::ModelShape& shape) {
  using enum TensorRole;
  const planner::UnitTensors unit = planner::unit_tensors(shape, 1);
  BlockSlots slots;
  slots.norm_before_attention = find(unit, norm_before_attention);
  slots.norm_after_attention = find(unit, norm_after_attention);
  slots.norm_before_mlp = find(unit, norm_before_mlp);
  slots.norm_after_mlp = find(unit, norm_after_mlp);
  slots.q_norm = find(unit, q_norm);
  slots.k_norm = find(unit, k_norm);
  slots.sinks = find(unit, sinks);
  const bool linear = planner::is_linear(shape.kinds.front());
  slots.attention_gate.weight = find(unit, linear ? delta_gate : attention_gate);
  if (linear) slots.delta = delta_slots(unit);
  if (shape.latent && !linear) slots.latent = latent_slots(unit);
  slots.q = projection(unit, q, q_bias);
  slots.k = projection(unit, k, k_bias);
  slots.v = projection(unit, v, v_bias);
  slots.o = projection(unit, o, o_bias);
  const bool routed = planner::routes(shape, shape.kinds.front());
  if (routed) {
    slots.experts = expert_slots(unit, shape);
    slots.gate.weight = find(unit, shared_gate);
    slots.up.weight = find(unit, shared_up);
    slots.down.weight = find(unit, shared_down);
    slots.shared_switch = find(unit, shared_switch);
  } else {
    slots.gate = projection(unit, gate, gate_bias);
    slots.up = projection(unit, up, up_bias);
    slots.down = projection(unit, down, down_bias);
  }
  slots.padded = unit.padded_size;
  check(slots.q.weight.exists() && slots.k.weight.exists() && slots.v.weight.exists() &&
            slots.o.weight.exists() &&
            (routed || (slots.up.weight.exists() && slots.down.weight.exists())),
        "a block has four projections of attention, and a feed-forward network");
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
