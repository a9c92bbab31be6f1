#include "planner/models/shape.hpp"

#include <algorithm>
#include <cmath>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

void require_in_shape(bool holds, const std::string& where, const std::string& field,
                      const std::string& reason) {
  if (!holds) throw BadRequest(where + ": " + field + ": " + reason);
}

void require_size(std::int64_t value, std::int64_t most, const std::string& where,
                  const std::string& field) {
  require_in_shape(value >= 1, where, field, std::to_string(value) + " must be at least 1");
  require_in_shape(value <= most, where, field,
                   std::to_string(value) + " is more than " + std::to_string(most));
}

void require_positive(double value, const std::string& where, const std::string& field) {
  require_in_shape(std::isfinite(value) && value > 0, where, field, "must be a positive number");
}

/// Parameters of a block's mixer of tokens that take part in a product.
std::int64_t mixer_matmul_parameters(const ModelShape& uniform) {
  const LayerKind& kind = uniform.kinds.front();
  if (is_linear(kind)) {
    const DeltaNet& net = *uniform.delta_net;
    return uniform.hidden * (net.channels() + 2 * net.values() + 2 * net.value_heads);
  }
  if (const auto& latent = uniform.latent) {
    const std::int64_t query = uniform.heads * uniform.head_dim;
    const std::int64_t queries = latent->query_rank ? *latent->query_rank * (uniform.hidden + query)
                                                    : uniform.hidden * query;
    return queries + uniform.hidden * (latent->rank + latent->rotated) +
           latent->rank * uniform.heads * (latent->plain + latent->value) +
           uniform.heads * latent->value * uniform.hidden;
  }
  return uniform.hidden * uniform.head_dim *
         ((uniform.attention_gate ? 3 : 2) * uniform.heads +
          (kind.values_are_keys ? 1 : 2) * uniform.kv_heads);  // q, o and a gate; k and v.
}

/// Elements of a layer's heads that take part in attention, as if heads of v were of q's size.
double attended_elements(const ModelShape& uniform) {
  const double query = static_cast<double>(uniform.heads * uniform.head_dim);
  if (!uniform.latent) return query;
  return (query + static_cast<double>(uniform.heads * uniform.latent->value)) / 2;
}

/// Parameters of one block of `uniform` that take part in a matrix product for each token.
std::int64_t block_matmul_parameters(const ModelShape& uniform) {
  const std::int64_t attention = mixer_matmul_parameters(uniform);
  const std::int64_t matrices = has_gate(uniform.activation) ? 3 : 2;
  std::int64_t mlp = matrices * uniform.hidden * uniform.intermediate;
  if (const auto& experts = uniform.experts) {
    mlp += (experts->count + (experts->shared_gate ? 1 : 0)) * uniform.hidden +
           matrices * uniform.hidden * experts->shared_intermediate;
  }
  return attention + mlp;
}

/// Elements of the largest of a model's heads.
std::int64_t largest_head(const ModelShape& shape) {
  std::int64_t largest = shape.head_dim;
  for (const LayerKind& kind : shape.kinds) {
    largest = std::max(largest, kind.head_dim.value_or(0));
  }
  return largest;
}

void validate_latent(const LatentAttention& latent, const std::string& where) {
  constexpr std::int64_t kMost = 1 << 16;
  require_size(latent.query_rank.value_or(1), kMost, where, "q_lora_rank");
  require_size(latent.rank, kMost, where, "kv_lora_rank");
  require_size(latent.plain, kMost, where, "qk_nope_head_dim");
  require_size(latent.rotated, kMost, where, "qk_rope_head_dim");
  require_size(latent.value, kMost, where, "v_head_dim");
}

void validate_delta_net(const DeltaNet& net, const std::string& where) {
  constexpr std::int64_t kMost = 1 << 16;
  require_size(net.key_heads, kMost, where, "linear_num_key_heads");
  require_size(net.value_heads, kMost, where, "linear_num_value_heads");
  require_size(net.key_dim, kMost, where, "linear_key_head_dim");
  require_size(net.value_dim, kMost, where, "linear_value_head_dim");
  require_in_shape(net.value_heads % net.key_heads == 0, where, "linear_num_key_heads",
                   std::to_string(net.key_heads) + " does not divide linear_num_value_heads (" +
                       std::to_string(net.value_heads) + ")");
}

}  // namespace

std::size_t kind_index(const ModelShape& shape, std::int64_t layer) {
  if (shape.kind_of_layer.empty()) return 0;
  return shape.kind_of_layer.at(static_cast<std::size_t>(layer));
}

const LayerKind& layer_kind(const ModelShape& shape, std::int64_t layer) {
  return shape.kinds.at(kind_index(shape, layer));
}

const RotaryTable* rotary_table(const ModelShape& shape, const LayerKind& kind) {
  return kind.rotary ? &shape.rotary.at(*kind.rotary) : nullptr;
}

std::int64_t layers_of_kind(const ModelShape& shape, std::size_t kind) {
  if (shape.kind_of_layer.empty()) return kind == 0 ? shape.layers : 0;
  return std::ranges::count(shape.kind_of_layer, kind);
}

ModelShape uniform_shape(const ModelShape& shape, std::size_t kind) {
  ModelShape uniform = shape;
  uniform.kinds = {shape.kinds.at(kind)};
  uniform.kind_of_layer.clear();
  if (is_linear(uniform.kinds.front())) {
    uniform.head_norm = HeadNorm::none;
    uniform.attention_gate = uniform.attention_sinks = uniform.qkv_bias = uniform.o_bias = false;
  } else {
    uniform.delta_net.reset();
  }
  LayerKind& only = uniform.kinds.front();
  uniform.kv_heads = only.kv_heads.value_or(uniform.kv_heads);
  uniform.head_dim = only.head_dim.value_or(uniform.head_dim);
  only.kv_heads.reset();
  only.head_dim.reset();
  if (const auto dense = uniform.kinds.front().dense_intermediate) {
    uniform.experts.reset();
    uniform.intermediate = *dense;
    uniform.kinds.front().dense_intermediate.reset();
  }
  return uniform;
}

bool routes(const ModelShape& shape, const LayerKind& kind) {
  return shape.experts && !kind.dense_intermediate;
}

double attention_scale(const ModelShape& shape) {
  return shape.scales.attention.value_or(1 / std::sqrt(static_cast<double>(shape.head_dim)));
}

std::int64_t parameter_count(const ModelShape& shape) {
  const std::size_t last = unit_count(shape) - 1;
  std::int64_t sum = unit_tensors(shape, 0).parameters() + unit_tensors(shape, last).parameters();
  for (std::size_t kind = 0; kind < shape.kinds.size(); ++kind) {
    const std::int64_t layers = layers_of_kind(shape, kind);
    if (layers > 0) sum += layers * unit_tensors(uniform_shape(shape, kind), 1).parameters();
  }
  return sum;
}

std::int64_t matmul_parameters(const ModelShape& shape) {
  std::int64_t sum = shape.vocab * shape.hidden;
  for (std::size_t kind = 0; kind < shape.kinds.size(); ++kind) {
    sum += layers_of_kind(shape, kind) * block_matmul_parameters(uniform_shape(shape, kind));
  }
  return sum;
}

Flops model_flops_per_token(const ModelShape& shape, std::int64_t seq_len) {
  double attention = 0, rule = 0;
  for (std::size_t kind = 0; kind < shape.kinds.size(); ++kind) {
    const auto layers = static_cast<double>(layers_of_kind(shape, kind));
    if (is_linear(shape.kinds[kind])) {
      rule += layers * delta_rule_flops(*shape.delta_net);
    } else {
      attention +=
          layers * attended_elements(uniform_shape(shape, kind)) * static_cast<double>(seq_len);
    }
  }
  return Flops(6.0 * static_cast<double>(matmul_parameters(shape)) + 6.0 * attention + 3.0 * rule);
}

void validate(const ModelShape& shape, const std::string& where) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  require_size(shape.layers, 1 << 16, where, "num_hidden_layers");
  require_size(shape.hidden, kMost, where, "hidden_size");
  if (shape.experts) {  // First: intermediate_size is made of them.
    require_size(shape.experts->count, 1 << 16, where, "num_experts");
    require_size(shape.experts->active, shape.experts->count, where, "num_experts_per_tok");
    require_size(shape.experts->intermediate, kMost, where, "moe_intermediate_size");
  }
  require_size(shape.intermediate, kMost, where, "intermediate_size");
  require_size(shape.heads, 1 << 16, where, "num_attention_heads");
  require_size(shape.kv_heads, 1 << 16, where, "num_key_value_heads");
  require_size(shape.head_dim, 1 << 16, where, "head_dim");
  require_size(shape.vocab, std::int64_t{1} << 31, where, "vocab_size");
  require_in_shape(shape.heads % shape.kv_heads == 0, where, "num_key_value_heads",
                   std::to_string(shape.kv_heads) + " does not divide num_attention_heads (" +
                       std::to_string(shape.heads) + ")");
  require_in_shape(shape.head_dim % 2 == 0, where, "head_dim",
                   std::to_string(shape.head_dim) + " is odd; rotary embeddings turn pairs");
  require_positive(shape.rms_eps, where, "rms_norm_eps");
  for (const RotaryTable& table : shape.rotary) {
    require_positive(table.theta, where, "rope_theta");
    const std::int64_t rotated = table.rotated.value_or(shape.head_dim);
    require_in_shape(rotated >= 2 && rotated % 2 == 0 && rotated <= largest_head(shape), where,
                     "partial_rotary_factor",
                     "turns " + std::to_string(rotated) + " of " + std::to_string(shape.head_dim) +
                         " elements of a head; it must turn pairs of them");
  }
  require_in_shape(std::isfinite(shape.init_std) && shape.init_std >= 0, where, "initializer_range",
                   "must be a number of at least 0");
  if (shape.delta_net) validate_delta_net(*shape.delta_net, where);
  if (shape.latent) validate_latent(*shape.latent, where);
  for (const LayerKind& kind : shape.kinds) {
    require_in_shape(!kind.window || *kind.window >= 1, where, "sliding_window",
                     "must be at least 1, or null");
    require_size(kind.dense_intermediate.value_or(1), kMost, where, "intermediate_size");
    require_size(kind.head_dim.value_or(1), 1 << 16, where, "global_head_dim");
    require_size(kind.kv_heads.value_or(1), 1 << 16, where, "num_global_key_value_heads");
    require_in_shape(shape.heads % kind.kv_heads.value_or(1) == 0, where,
                     "num_global_key_value_heads", "does not divide num_attention_heads");
  }
  const auto attention = static_cast<double>(shape.heads) * static_cast<double>(shape.head_dim);
  const double feed_forward = shape.experts ? static_cast<double>(shape.experts->count) *
                                                  static_cast<double>(shape.experts->intermediate)
                                            : static_cast<double>(shape.intermediate);
  const double parameters =
      static_cast<double>(shape.hidden) *
      (static_cast<double>(shape.layers) * (4 * attention + 3 * feed_forward) +
       2 * static_cast<double>(shape.vocab));
  require_in_shape(parameters < 1e15, where, "hidden_size",
                   "the sizes describe a model of more than 1e15 parameters");
}

}  // namespace sluice::planner
