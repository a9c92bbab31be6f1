// Model shapes: the sizes in a Hugging Face config.json, and every tensor that follows from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/models/block.hpp"
#include "planner/models/block_names.hpp"
#include "planner/models/delta_net.hpp"
#include "planner/models/experts.hpp"
#include "planner/models/latent_attention.hpp"
#include "planner/models/tensor_spec.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Tag of the reader that made a shape: model_type as config.json has it, with static storage. Only
/// readers and writers of config.json ask for it; what a model computes is in the shape itself.
struct Family {
  const char* model_type = "llama";
  static const Family llama, mistral, qwen2, qwen3, qwen3_moe, mixtral, gpt_oss;
  friend constexpr bool operator==(Family one, Family other) {
    return std::string_view(one.model_type) == other.model_type;
  }
};
inline constexpr Family Family::llama{"llama"};
inline constexpr Family Family::mistral{"mistral"};
inline constexpr Family Family::qwen2{"qwen2"};
inline constexpr Family Family::qwen3{"qwen3"};
inline constexpr Family Family::qwen3_moe{"qwen3_moe"};
inline constexpr Family Family::mixtral{"mixtral"};
inline constexpr Family Family::gpt_oss{"gpt_oss"};

/// A decoder: sizes in elements, and what its blocks compute. Where `experts` is set, experts
/// replace the dense feed-forward network in every layer whose kind does not say otherwise, and
/// `intermediate` is the width of a token's active experts together.
struct ModelShape {
  std::string name;
  Family family = Family::llama;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  ///< Elements of one attention head; not necessarily hidden / heads.
  std::int64_t vocab = 0;
  bool tied_head = false;
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  /// Whether each attention head has a learned extra logit in its softmax (gpt_oss).
  bool attention_sinks = false;
  /// Whether attention's output is multiplied by the sigmoid of a projection of its input, element
  /// by element, before the o projection (qwen3_next).
  bool attention_gate = false;
  HeadNorm head_norm = HeadNorm::none;
  /// Whether that norm is of queries and keys that are rotated already (hunyuan_v1_dense).
  bool norm_behind_rotation = false;
  double rms_eps = 1e-6;
  NormSlots norms;
  Activation activation = Activation::silu;
  Scales scales;
  std::vector<RotaryTable> rotary =
      std::vector<RotaryTable>(1);  ///< Tables that kinds of layers choose from.
  std::vector<LayerKind> kinds = std::vector<LayerKind>(1);  ///< Kinds of layers; at least one.
  /// Index in `kinds` of each layer; empty where all layers are of the first kind.
  std::vector<std::uint8_t> kind_of_layer;
  std::optional<Experts> experts;
  /// Sizes of latent attention, where all layers have it; kv_heads is `heads` then.
  std::optional<LatentAttention> latent;
  bool value_norm = false;  ///< Whether each head of v is normed, without a weight (gemma4).
  bool layer_factor =
      false;  ///< Whether a buffer of one element multiplies a layer's output (gemma4).
  std::optional<DeltaNet> delta_net;  ///< Sizes of layers of Mixer::gated_delta_net.
  BlockNames names;
  double init_std = 0.02;
  /// Number of positions that the model was made for; longer sequences are allowed, with a warning.
  /// None where nothing states it.
  std::optional<std::int64_t> max_positions{};
  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

/// Number of the kind of the layer `layer`, from 0.
[[nodiscard]] std::size_t kind_index(const ModelShape& shape, std::int64_t layer);
/// Kind of the layer `layer`, from 0.
[[nodiscard]] const LayerKind& layer_kind(const ModelShape& shape, std::int64_t layer);
/// Rotary table of layers of this kind; null where they have no positions.
[[nodiscard]] const RotaryTable* rotary_table(const ModelShape& shape, const LayerKind& kind);
/// Number of layers of the kind with the index `kind`.
[[nodiscard]] std::int64_t layers_of_kind(const ModelShape& shape, std::size_t kind);
/// The model whose layers are all of the kind with the index `kind`, that index being 0 there and a
/// dense MLP's width its `intermediate`. Every layer of that kind is a layer of it. What layers
/// without attention do not have is not in it.
[[nodiscard]] ModelShape uniform_shape(const ModelShape& shape, std::size_t kind);
/// Whether layers of this kind have experts.
[[nodiscard]] bool routes(const ModelShape& shape, const LayerKind& kind);
/// Whether layers of this kind are a gated delta net.
[[nodiscard]] constexpr bool is_linear(const LayerKind& kind) {
  return kind.mixer == Mixer::gated_delta_net;
}
/// Factor of attention's scores before their bound.
[[nodiscard]] double attention_scale(const ModelShape& shape);

/// Kinds of the units that stream: embedding, blocks 0 to layers-1, and head (final norm and
/// lm_head), in this order.
enum class UnitKind { embed, block, head };

struct Unit {
  UnitKind kind;
  std::int64_t layer;  ///< Block number; 0 for embedding and head.
};

/// The tensors of one unit in canonical order (docs/numerics.md). The head of a model with
/// tied_head holds only its norm.
struct UnitTensors {
  std::vector<TensorSpec> tensors;
  std::int64_t padded_size =
      0;  ///< Elements of the unit's flat vector, padding included; a multiple of kTensorAlign.
  /// Number of parameters of the unit, without padding.
  [[nodiscard]] std::int64_t parameters() const;
};

[[nodiscard]] std::size_t unit_count(const ModelShape& shape);  ///< Number of units: layers + 2.
[[nodiscard]] Unit unit_at(const ModelShape& shape, std::size_t index);
/// Name of the unit with the index `index`: "embed", "L0", ..., "head".
[[nodiscard]] std::string unit_name(const ModelShape& shape, std::size_t index);
[[nodiscard]] UnitTensors unit_tensors(const ModelShape& shape, std::size_t index);
/// Range of the experts of the layer `layer` in its block's vector: expert i is elements [first + i
/// stride, first + (i + 1) stride), and the vector ends with the last expert.
struct ExpertRange {
  std::int64_t first, stride;
};
[[nodiscard]] ExpertRange expert_range(const ModelShape& shape, std::int64_t layer);
/// The range in the first layer that has experts.
[[nodiscard]] ExpertRange expert_range(const ModelShape& shape);
/// UnitTensors::padded_size of the unit `index`, computed without making the names of its tensors.
[[nodiscard]] std::int64_t unit_padded_size(const ModelShape& shape, std::size_t index);

/// Number of parameters of the model; a tied head counts once.
[[nodiscard]] std::int64_t parameter_count(const ModelShape& shape);
/// Parameters that take part in a matrix product for each token: lm_head counts, the embedding
/// lookup does not.
[[nodiscard]] std::int64_t matmul_parameters(const ModelShape& shape);
/// Training FLOPs of one token: 6 x matmul parameters + 6 x heads x head_dim x seq_len for each
/// layer of attention + 3 x delta_rule_flops for each gated delta net.
[[nodiscard]] Flops model_flops_per_token(const ModelShape& shape, std::int64_t seq_len);

/// Throws BadRequest `WHERE: FIELD: reason`, with fields named as in config.json, for sizes below
/// one or beyond reason, heads that kv_heads does not divide, an odd head_dim, ...
void validate(const ModelShape& shape, const std::string& where);

/// Name of the family, as config.json has it in `model_type`.
[[nodiscard]] constexpr const char* to_string(Family family) { return family.model_type; }

/// The shape that a config.json states, with transformers' defaults for keys that it leaves out;
/// `where` names the file in errors. Throws BadRequest naming the field (unknown family, wrong
/// field, unsupported activation or rope_scaling).
[[nodiscard]] ModelShape shape_from_config(const std::string& json_text, const std::string& where);
/// The config.json text from which transformers would build `shape`.
[[nodiscard]] std::string config_from_shape(const ModelShape& shape);

}  // namespace sluice::planner
