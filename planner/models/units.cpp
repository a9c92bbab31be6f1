// Tensors of units in canonical order, and sizes that follow from them.
#include <numeric>
#include <string_view>

#include "planner/models/shape.hpp"
#include "planner/models/tensor_list.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

std::string joined(std::string_view prefix, std::string_view name, std::string_view end) {
  std::string text(prefix);
  text += name;
  text += end;
  return text;
}

/// Adds the tensors of one block.
class BlockTensors {
 public:
  using enum TensorRole;

  BlockTensors(const ModelShape& shape, std::int64_t layer)
      : shape_(uniform_shape(shape, kind_index(shape, layer))),
        kind_(shape_.kinds.front()),
        prefix_("model.layers." + std::to_string(layer) + ".") {}

  [[nodiscard]] UnitTensors take() {
    const NormSlots& norms = shape_.norms;
    norm(norms.before_attention, norm_before_attention, shape_.names.norm_before_attention);
    if (is_linear(kind_)) {
      add_delta_net(list_, shape_, prefix_);
    } else if (shape_.latent) {
      add_latent_attention(list_, shape_, prefix_);
    } else {
      add_attention();
    }
    norm(norms.after_attention, norm_after_attention, shape_.names.norm_after_attention);
    norm(norms.before_mlp, norm_before_mlp, shape_.names.norm_before_mlp);
    if (shape_.layer_factor) list_.vector(layer_factor, prefix_ + "layer_scalar", 1).frozen = true;
    // Before the MLP, so that the vector of a block with experts ends with the last of them.
    norm(norms.after_mlp, norm_after_mlp, shape_.names.norm_after_mlp);
    if (routes(shape_, kind_)) {
      add_experts();
    } else {
      add_mlp(shape_.intermediate);
    }
    return list_.take();
  }

 private:
  void norm(bool present, TensorRole role, std::string_view name) {
    if (present) list_.vector(role, joined(prefix_, name, ".weight"), shape_.hidden);
  }

  /// Says of the tensor that it is `size` rows, from `first` on, of the fused tensor.
  void place(TensorSpec& tensor, std::string_view fused, std::string_view end, std::int64_t first,
             std::int64_t size) const {
    if (fused.empty()) return;
    tensor.on_disk =
        DiskPlace{.name = joined(prefix_, fused, end), .first = first, .block = size, .step = size};
  }

  void pair_rows(TensorSpec& tensor) const {
    const RotaryTable* table = rotary_table(shape_, kind_);
    if (table == nullptr || !table->interleaved) return;
    tensor.paired = PairedRows{shape_.head_dim, table->rotated.value_or(shape_.head_dim)};
  }

  void add_attention() {
    add_projections();
    add_attention_vectors();
    const std::int64_t query = shape_.heads * shape_.head_dim;
    list_.matrix(o, prefix_ + "self_attn.o_proj.weight", shape_.hidden, query);
    if (shape_.o_bias) list_.vector(o_bias, prefix_ + "self_attn.o_proj.bias", shape_.hidden);
  }

  // q, k and v are neighbours, so that where sizes are multiples of kTensorAlign one product may
  // cover them; likewise gate and up.
  void add_projections() {
    const std::string attention = prefix_ + "self_attn.";
    const std::int64_t query = shape_.heads * shape_.head_dim;
    const std::int64_t key = shape_.kv_heads * shape_.head_dim;
    const std::string_view fused = shape_.names.fused_qkv;
    TensorSpec& queries = list_.matrix(q, attention + "q_proj.weight", query, shape_.hidden);
    place(queries, fused, ".weight", 0, query);
    pair_rows(queries);
    if (shape_.attention_gate) {
      queries.on_disk = {
          .name = queries.name, .block = shape_.head_dim, .step = 2 * shape_.head_dim};
    }
    TensorSpec& keys = list_.matrix(k, attention + "k_proj.weight", key, shape_.hidden);
    place(keys, fused, ".weight", query, key);
    pair_rows(keys);
    if (!kind_.values_are_keys) {
      place(list_.matrix(v, attention + "v_proj.weight", key, shape_.hidden), fused, ".weight",
            query + key, key);
    }
    if (shape_.attention_gate) {
      list_.matrix(attention_gate, attention + "gate_proj.weight", query, shape_.hidden).on_disk = {
          .name = attention + "q_proj.weight",
          .first = shape_.head_dim,
          .block = shape_.head_dim,
          .step = 2 * shape_.head_dim};
    }
  }

  void add_attention_vectors() {
    const std::string attention = prefix_ + "self_attn.";
    const std::int64_t query = shape_.heads * shape_.head_dim;
    const std::int64_t key = shape_.kv_heads * shape_.head_dim;
    if (shape_.qkv_bias) {
      const std::string_view fused = shape_.names.fused_qkv;
      TensorSpec& queries = list_.vector(q_bias, attention + "q_proj.bias", query);
      place(queries, fused, ".bias", 0, query);
      pair_rows(queries);
      TensorSpec& keys = list_.vector(k_bias, attention + "k_proj.bias", key);
      place(keys, fused, ".bias", query, key);
      pair_rows(keys);
      place(list_.vector(v_bias, attention + "v_proj.bias", key), fused, ".bias", query + key, key);
    }
    if (shape_.head_norm == HeadNorm::per_head || shape_.head_norm == HeadNorm::full_width) {
      const bool whole = shape_.head_norm == HeadNorm::full_width;
      const BlockNames& names = shape_.names;
      list_.vector(q_norm, joined(prefix_, names.q_norm, ".weight"),
                   whole ? query : shape_.head_dim);
      list_.vector(k_norm, joined(prefix_, names.k_norm, ".weight"), whole ? key : shape_.head_dim);
    }
    // transformers decays it: its name speaks of no norm and no bias.
    if (shape_.attention_sinks) {
      list_.vector(sinks, attention + "sinks", shape_.heads).decays = true;
    }
  }

  void add_mlp(std::int64_t wide) {
    const std::string mlp = prefix_ + "mlp.";
    const std::string_view fused = shape_.names.fused_gate_up;
    const bool gated = has_gate(shape_.activation);
    if (gated) {
      place(list_.matrix(gate, mlp + "gate_proj.weight", wide, shape_.hidden), fused, ".weight", 0,
            wide);
    }
    place(list_.matrix(up, mlp + "up_proj.weight", wide, shape_.hidden), fused, ".weight", wide,
          wide);
    if (shape_.mlp_bias) {
      if (gated) {
        place(list_.vector(gate_bias, mlp + "gate_proj.bias", wide), fused, ".bias", 0, wide);
      }
      place(list_.vector(up_bias, mlp + "up_proj.bias", wide), fused, ".bias", wide, wide);
    }
    list_.matrix(down, mlp + "down_proj.weight", shape_.hidden, wide);
    if (shape_.mlp_bias) list_.vector(down_bias, mlp + "down_proj.bias", shape_.hidden);
  }

  /// Adds the router, the shared expert, and one expert after another, so that an expert is one
  /// range.
  void add_experts() {
    const Experts& experts = *shape_.experts;
    const ExpertNames& names = shape_.names.experts;
    list_.matrix(router, joined(prefix_, names.router, ".weight"), experts.count, shape_.hidden);
    if (experts.router_bias) {
      list_.vector(router_bias, joined(prefix_, names.router, ".bias"), experts.count);
    }
    if (experts.correction_bias) {
      TensorSpec& bias =
          list_.vector(correction_bias, joined(prefix_, names.correction_bias, ""), experts.count);
      bias.frozen = true;
      bias.is_row = names.correction_row;
    }
    if (experts.shared_intermediate > 0) add_shared_expert();
    for (std::int64_t i = 0; i < experts.count; ++i) add_expert(i);
  }

  void add_shared_expert() {
    const std::int64_t wide = shape_.experts->shared_intermediate;
    const std::string shared = joined(prefix_, shape_.names.experts.shared, ".");
    list_.matrix(shared_gate, shared + "gate_proj.weight", wide, shape_.hidden);
    list_.matrix(shared_up, shared + "up_proj.weight", wide, shape_.hidden);
    list_.matrix(shared_down, shared + "down_proj.weight", shape_.hidden, wide);
    if (shape_.experts->shared_gate) {
      list_.matrix(shared_switch, joined(prefix_, shape_.names.experts.shared_switch, ".weight"), 1,
                   shape_.hidden);
    }
  }

  /// Says of a tensor of the expert `index` where it lies in the stack of all experts.
  void stack(TensorSpec& tensor, std::int64_t index, std::string_view name, std::int64_t first = 0,
             std::int64_t step = 1) const {
    const ExpertNames& names = shape_.names.experts;
    if (!names.stacked) return;
    tensor.on_disk = DiskPlace{.name = joined(prefix_, names.experts, name),
                               .first = first,
                               .step = step,
                               .stacked = index,
                               .transposed = tensor.rows > 1};
  }

  void add_expert(std::int64_t index) {
    const std::int64_t wide = shape_.experts->intermediate;
    const ExpertNames& names = shape_.names.experts;
    const std::string expert = joined(prefix_, names.experts, std::to_string(index)) + ".";
    const bool bias = shape_.mlp_bias;
    const auto weight = [&](TensorRole role, std::string_view name, std::int64_t rows,
                            std::int64_t cols) -> TensorSpec& {
      return list_.matrix(role, joined(expert, name, ".weight"), rows, cols);
    };
    const auto bias_of = [&](TensorRole role, std::string_view name,
                             std::int64_t size) -> TensorSpec& {
      return list_.vector(role, joined(expert, name, ".bias"), size);
    };
    stack(weight(expert_gate, names.gate, wide, shape_.hidden), index, "gate_up_proj", 0, 2);
    stack(weight(expert_up, names.up, wide, shape_.hidden), index, "gate_up_proj", 1, 2);
    if (bias) {
      stack(bias_of(expert_gate_bias, names.gate, wide), index, "gate_up_proj_bias", 0, 2);
      stack(bias_of(expert_up_bias, names.up, wide), index, "gate_up_proj_bias", 1, 2);
    }
    stack(weight(expert_down, names.down, shape_.hidden, wide), index, "down_proj");
    if (bias) {
      stack(bias_of(expert_down_bias, names.down, shape_.hidden), index, "down_proj_bias");
    }
  }

  const ModelShape shape_;  ///< The model whose layers are all of this layer's kind.
  const LayerKind& kind_;
  std::string prefix_;
  TensorList list_;
};

/// Elements of one expert's range.
std::int64_t expert_stride(const ModelShape& shape) {
  const std::int64_t wide = shape.experts->intermediate;
  const std::int64_t biases = shape.mlp_bias ? 2 * padded(wide) + padded(shape.hidden) : 0;
  return 3 * padded(wide * shape.hidden) + biases;
}

/// Elements of a block with experts before the first of them.
std::int64_t before_experts(const ModelShape& shape, std::int64_t layer) {
  ModelShape one = shape;
  one.experts->count = 1;
  const std::int64_t count = shape.experts->count;
  std::int64_t router = padded(count * shape.hidden) - padded(shape.hidden);
  for (const bool vector : {shape.experts->router_bias, shape.experts->correction_bias}) {
    if (vector) router += padded(count) - padded(1);
  }
  return BlockTensors(one, layer).take().padded_size - expert_stride(shape) + router;
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
  if (unit.kind == UnitKind::block) return BlockTensors(shape, unit.layer).take();
  TensorList list;
  if (unit.kind == UnitKind::embed) {
    list.matrix(TensorRole::embedding, "model.embed_tokens.weight", shape.vocab, shape.hidden);
  } else {
    list.vector(TensorRole::final_norm, "model.norm.weight", shape.hidden);
    if (!shape.tied_head)
      list.matrix(TensorRole::head, "lm_head.weight", shape.vocab, shape.hidden);
  }
  return list.take();
}

std::int64_t unit_padded_size(const ModelShape& shape, std::size_t index) {
  const Unit unit = unit_at(shape, index);
  if (unit.kind != UnitKind::block || !routes(shape, layer_kind(shape, unit.layer))) {
    return unit_tensors(shape, index).padded_size;
  }
  return before_experts(shape, unit.layer) + shape.experts->count * expert_stride(shape);
}

ExpertRange expert_range(const ModelShape& shape, std::int64_t layer) {
  return {before_experts(shape, layer), expert_stride(shape)};
}

ExpertRange expert_range(const ModelShape& shape) {
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    if (!routes(shape, layer_kind(shape, layer))) continue;
    return expert_range(shape, layer);
  }
  throw std::logic_error("contract broken: a layer has experts");
}

}  // namespace sluice::planner
