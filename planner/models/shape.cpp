#include "planner/models/shape.hpp"

#include <cmath>
#include <numeric>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

std::int64_t padded(std::int64_t elements) {
  return (elements + kTensorAlign - 1) / kTensorAlign * kTensorAlign;
}

/// List of tensors that follow each other in a unit's vector, each aligned.
class TensorList {
 public:
  void matrix(std::string name, std::int64_t rows, std::int64_t cols) {
    add(std::move(name), rows, cols, true);
  }
  void vector(std::string name, std::int64_t size) { add(std::move(name), 1, size, false); }
  [[nodiscard]] UnitTensors take() { return std::move(unit_); }

 private:
  void add(std::string name, std::int64_t rows, std::int64_t cols, bool decays) {
    const std::int64_t offset = unit_.padded_size;
    unit_.padded_size = padded(offset + rows * cols);
    unit_.tensors.push_back({std::move(name), rows, cols, offset, decays});
  }
  UnitTensors unit_;
};

/// Adds the router, then gate, up and down of one expert after another, so that an expert is one
/// range.
void add_experts(TensorList& list, const ModelShape& shape, const std::string& prefix) {
  const Experts& experts = *shape.experts;
  const ExpertNames names = expert_names(shape.family);
  list.matrix(prefix + names.router, experts.count, shape.hidden);
  for (std::int64_t i = 0; i < experts.count; ++i) {
    const std::string expert = prefix + names.experts + std::to_string(i);
    list.matrix(expert + names.gate, experts.intermediate, shape.hidden);
    list.matrix(expert + names.up, experts.intermediate, shape.hidden);
    list.matrix(expert + names.down, shape.hidden, experts.intermediate);
  }
}

/// Adds router and experts with biases, stacked as gpt_oss stacks them: [experts x rows, cols].
void add_stacked_experts(TensorList& list, const ModelShape& shape, const std::string& mlp) {
  const Experts& experts = *shape.experts;
  const std::int64_t wide = experts.count * 2 * experts.intermediate;
  list.matrix(mlp + "router.weight", experts.count, shape.hidden);
  if (experts.router_bias) list.vector(mlp + "router.bias", experts.count);
  list.matrix(mlp + "experts.gate_up_proj", wide, shape.hidden);
  if (shape.mlp_bias) list.vector(mlp + "experts.gate_up_proj_bias", wide);
  list.matrix(mlp + "experts.down_proj", experts.count * shape.hidden, experts.intermediate);
  if (shape.mlp_bias) {
    list.vector(mlp + "experts.down_proj_bias", experts.count * shape.hidden);
  }
}

UnitTensors block_tensors(const ModelShape& shape, std::int64_t layer) {
  const std::string prefix = "model.layers." + std::to_string(layer) + ".";
  const std::string attention = prefix + "self_attn.";
  const std::string mlp = prefix + "mlp.";
  const std::int64_t q_size = shape.heads * shape.head_dim;
  const std::int64_t kv_size = shape.kv_heads * shape.head_dim;
  TensorList list;
  list.vector(prefix + "input_layernorm.weight", shape.hidden);
  // The three weights are neighbours, so that where sizes are multiples of kTensorAlign one product
  // may cover them; likewise gate and up.
  list.matrix(attention + "q_proj.weight", q_size, shape.hidden);
  list.matrix(attention + "k_proj.weight", kv_size, shape.hidden);
  list.matrix(attention + "v_proj.weight", kv_size, shape.hidden);
  if (shape.qkv_bias) {
    list.vector(attention + "q_proj.bias", q_size);
    list.vector(attention + "k_proj.bias", kv_size);
    list.vector(attention + "v_proj.bias", kv_size);
  }
  if (shape.qk_norm) {
    list.vector(attention + "q_norm.weight", shape.head_dim);
    list.vector(attention + "k_norm.weight", shape.head_dim);
  }
  if (shape.attention_sinks) list.vector(attention + "sinks", shape.heads);
  list.matrix(attention + "o_proj.weight", shape.hidden, q_size);
  if (shape.o_bias) list.vector(attention + "o_proj.bias", shape.hidden);
  list.vector(prefix + "post_attention_layernorm.weight", shape.hidden);
  if (shape.family == Family::gpt_oss) {
    add_stacked_experts(list, shape, mlp);
    return list.take();
  }
  if (shape.experts) {
    add_experts(list, shape, prefix);
    return list.take();
  }
  list.matrix(mlp + "gate_proj.weight", shape.intermediate, shape.hidden);
  list.matrix(mlp + "up_proj.weight", shape.intermediate, shape.hidden);
  if (shape.mlp_bias) {
    list.vector(mlp + "gate_proj.bias", shape.intermediate);
    list.vector(mlp + "up_proj.bias", shape.intermediate);
  }
  list.matrix(mlp + "down_proj.weight", shape.hidden, shape.intermediate);
  if (shape.mlp_bias) list.vector(mlp + "down_proj.bias", shape.hidden);
  return list.take();
}

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

}  // namespace

std::int64_t UnitTensors::parameters() const {
  return std::accumulate(
      tensors.begin(), tensors.end(), std::int64_t{0},
      [](std::int64_t sum, const TensorSpec& tensor) { return sum + tensor.size(); });
}

std::size_t unit_count(const ModelShape& shape) {
  return static_cast<std::size_t>(shape.layers) + 2;
}

Unit unit_at(const ModelShape& shape, std::size_t index) {
  check(index < unit_count(shape), "unit index within the model");
  if (index == 0) return {UnitKind::embed, 0};
  if (index + 1 == unit_count(shape)) return {UnitKind::head, 0};
  return {UnitKind::block, static_cast<std::int64_t>(index) - 1};
}

std::string unit_name(const ModelShape& shape, std::size_t index) {
  const Unit unit = unit_at(shape, index);
  switch (unit.kind) {
    case UnitKind::embed:
      return "embed";
    case UnitKind::head:
      return "head";
    case UnitKind::block:
      break;
  }
  return "L" + std::to_string(unit.layer);
}

UnitTensors unit_tensors(const ModelShape& shape, std::size_t index) {
  const Unit unit = unit_at(shape, index);
  if (unit.kind == UnitKind::block) return block_tensors(shape, unit.layer);
  TensorList list;
  if (unit.kind == UnitKind::embed) {
    list.matrix("model.embed_tokens.weight", shape.vocab, shape.hidden);
  } else {
    list.vector("model.norm.weight", shape.hidden);
    if (!shape.tied_head) list.matrix("lm_head.weight", shape.vocab, shape.hidden);
  }
  return list.take();
}

std::int64_t unit_padded_size(const ModelShape& shape, std::size_t index) {
  if (!shape.experts || shape.family == Family::gpt_oss ||
      unit_at(shape, index).kind != UnitKind::block) {
    return unit_tensors(shape, index).padded_size;
  }
  const ExpertRange experts = expert_range(shape);
  return experts.first + shape.experts->count * experts.stride;
}

ExpertRange expert_range(const ModelShape& shape) {
  check(shape.experts && shape.family != Family::gpt_oss, "each expert is one range");
  ModelShape one = shape;
  one.experts->count = 1;
  const std::int64_t stride = 3 * padded(shape.experts->intermediate * shape.hidden);
  const std::int64_t router = padded(shape.experts->count * shape.hidden) - padded(shape.hidden);
  return {unit_tensors(one, 1).padded_size - stride + router, stride};
}

ExpertNames expert_names(Family family) {
  if (family == Family::mixtral) {
    return {.router = "block_sparse_moe.gate.weight",
            .experts = "block_sparse_moe.experts.",
            .gate = ".w1.weight",
            .up = ".w3.weight",
            .down = ".w2.weight"};
  }
  return {.router = "mlp.gate.weight",
          .experts = "mlp.experts.",
          .gate = ".gate_proj.weight",
          .up = ".up_proj.weight",
          .down = ".down_proj.weight"};
}

std::int64_t parameter_count(const ModelShape& shape) {
  const std::size_t head = unit_count(shape) - 1;
  const std::int64_t block = shape.layers > 0 ? unit_tensors(shape, 1).parameters() : 0;
  return unit_tensors(shape, 0).parameters() + shape.layers * block +
         unit_tensors(shape, head).parameters();
}

std::int64_t matmul_parameters(const ModelShape& shape) {
  const std::int64_t attention =
      2 * shape.hidden * shape.head_dim * (shape.heads + shape.kv_heads);  // q and o; k and v.
  const std::int64_t router = shape.experts ? shape.experts->count * shape.hidden : 0;
  const std::int64_t mlp = 3 * shape.hidden * shape.intermediate + router;
  return shape.layers * (attention + mlp) + shape.vocab * shape.hidden;
}

Flops model_flops_per_token(const ModelShape& shape, std::int64_t seq_len) {
  const auto attention = static_cast<double>(shape.layers * shape.heads * shape.head_dim) *
                         static_cast<double>(seq_len);
  return Flops(6.0 * static_cast<double>(matmul_parameters(shape)) + 6.0 * attention);
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
  require_positive(shape.rope_theta, where, "rope_theta");
  require_in_shape(std::isfinite(shape.init_std) && shape.init_std >= 0, where, "initializer_range",
                   "must be a number of at least 0");
  require_in_shape(!shape.sliding_window || *shape.sliding_window >= 1, where, "sliding_window",
                   "must be at least 1, or null");
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
