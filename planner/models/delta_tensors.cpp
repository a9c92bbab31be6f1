// Tensors of a gated delta net, and where they lie in checkpoints.
#include "planner/models/tensor_list.hpp"

namespace sluice::planner {
namespace {

/// Says of a tensor that each key head has `rows` of its rows, `first` rows behind the beginning of
/// the head's `step` rows of the checkpoint's tensor.
void place_heads(TensorSpec& tensor, const std::string& name, std::int64_t first, std::int64_t rows,
                 std::int64_t step) {
  tensor.on_disk = DiskPlace{.name = name, .first = first, .block = rows, .step = step};
}

/// Says of q, k or v that it is `rows` rows, from `first` on, of the tensor of all three.
void place_rows(TensorSpec& tensor, const std::string& name, std::int64_t first,
                std::int64_t rows) {
  tensor.on_disk = DiskPlace{.name = name, .first = first, .block = rows, .step = rows};
}

/// Adds q, k, v and the gate, which checkpoints have in one tensor, key head by key head.
void add_by_heads(TensorList& list, const ModelShape& shape, const std::string& prefix,
                  const std::string& name) {
  using enum TensorRole;
  const DeltaNet& net = *shape.delta_net;
  const std::int64_t key = net.key_dim, value = net.values() / net.key_heads;
  const std::int64_t step = 2 * key + 2 * value;
  place_heads(list.matrix(q, prefix + "q_proj.weight", net.keys(), shape.hidden), name, 0, key,
              step);
  place_heads(list.matrix(k, prefix + "k_proj.weight", net.keys(), shape.hidden), name, key, key,
              step);
  place_heads(list.matrix(v, prefix + "v_proj.weight", net.values(), shape.hidden), name, 2 * key,
              value, step);
  place_heads(list.matrix(delta_gate, prefix + "in_proj_z.weight", net.values(), shape.hidden),
              name, 2 * key + value, value, step);
}

/// Adds q, k and v, which checkpoints have in one tensor, one behind the other, and the gate.
void add_one_by_one(TensorList& list, const ModelShape& shape, const std::string& prefix) {
  using enum TensorRole;
  const DeltaNet& net = *shape.delta_net;
  const std::string name = prefix + "in_proj_qkv.weight";
  place_rows(list.matrix(q, prefix + "q_proj.weight", net.keys(), shape.hidden), name, 0,
             net.keys());
  place_rows(list.matrix(k, prefix + "k_proj.weight", net.keys(), shape.hidden), name, net.keys(),
             net.keys());
  place_rows(list.matrix(v, prefix + "v_proj.weight", net.values(), shape.hidden), name,
             2 * net.keys(), net.values());
  list.matrix(delta_gate, prefix + "in_proj_z.weight", net.values(), shape.hidden);
}

}  // namespace

void add_delta_net(TensorList& list, const ModelShape& shape, const std::string& prefix) {
  using enum TensorRole;
  const DeltaNet& net = *shape.delta_net;
  const BlockNames& names = shape.names;
  const std::string own = prefix + "linear_attn.";
  if (names.fused_delta.empty()) {
    add_one_by_one(list, shape, own);
  } else {
    add_by_heads(list, shape, own, prefix + std::string(names.fused_delta) + ".weight");
  }
  const std::string rates = names.fused_delta_rates.empty()
                                ? std::string()
                                : prefix + std::string(names.fused_delta_rates) + ".weight";
  const std::int64_t served = net.value_heads / net.key_heads;
  TensorSpec& beta =
      list.matrix(delta_beta, own + "in_proj_b.weight", net.value_heads, shape.hidden);
  if (!rates.empty()) place_heads(beta, rates, 0, served, 2 * served);
  TensorSpec& decay =
      list.matrix(delta_decay, own + "in_proj_a.weight", net.value_heads, shape.hidden);
  if (!rates.empty()) place_heads(decay, rates, served, served, 2 * served);
  list.matrix(delta_conv, own + "conv1d.weight", net.channels(), kDeltaTaps);
  // transformers decays it: its name speaks of no norm and no bias.
  list.vector(delta_log_rate, own + "A_log", net.value_heads).decays = true;
  list.vector(delta_time_bias, own + "dt_bias", net.value_heads);
  list.vector(delta_norm, own + "norm.weight", net.value_dim);
  list.matrix(o, own + "out_proj.weight", shape.hidden, net.values());
}

}  // namespace sluice::planner
