// Model shapes: the sizes in a Hugging Face config.json, and every tensor that follows from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace sluice::planner {

enum class Family { llama, mistral, qwen2, qwen3, qwen3_moe, mixtral, gpt_oss };

/// Frequency scaling of RoPE, as in config.json's rope_scaling.
struct RopeScaling {
  enum class Kind { none, linear, llama3, yarn } kind = Kind::none;
  double factor = 1;
  /// Used by llama3: pairs of elements that RoPE rotates fewer times than this over the original
  /// positions have their frequency divided by `factor`.
  double low_freq_factor = 1;
  /// Used by llama3: pairs of elements that RoPE rotates more times than this over the original
  /// positions keep their frequency.
  double high_freq_factor = 4;
  /// Positions that the model was trained with before scaling; used by llama3 and yarn.
  std::int64_t original_max_positions = 0;
  /// Used by yarn: pairs of elements that RoPE rotates more than `beta_fast` times over the
  /// original positions keep their frequency; those that it rotates less than `beta_slow` times
  /// have it divided by `factor`.
  double beta_fast = 32, beta_slow = 1;
  /// Used by yarn: widens the range between beta_slow and beta_fast to whole pairs.
  bool truncate = true;
  /// Used by yarn: factor of cosines and sines, as given or as it follows from the other values.
  double attention_factor = 1;
  friend bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

/// Mixture of experts: feed-forward networks of which each token uses a few, chosen by a router.
struct Experts {
  std::int64_t count = 0;         ///< Experts of one block.
  std::int64_t active = 0;        ///< Experts that one token passes through.
  std::int64_t intermediate = 0;  ///< Width of a single expert's hidden layer, in elements.
  bool normalized = true;         ///< Whether the weights of a token's active experts add up to 1.
  bool router_bias = false;       ///< Whether the router has biases (gpt_oss).
  friend bool operator==(const Experts&, const Experts&) = default;
};

/// Sizes of a decoder, in elements. Where `experts` is set, experts replace the dense feed-forward
/// network, and `intermediate` is the width of a token's active experts together.
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
  bool qk_norm = false;  ///< Whether q and k pass an RMSNorm over head_dim (qwen3).
  double rms_eps = 1e-6;
  double rope_theta = 10000;
  RopeScaling rope_scaling;
  std::optional<Experts> experts;
  /// Keys visible to a query, itself included; none for all keys before it.
  std::optional<std::int64_t> sliding_window;
  double init_std = 0.02;
  /// Number of positions that the model was made for; longer sequences are allowed, with a warning.
  /// None where nothing states it.
  std::optional<std::int64_t> max_positions{};
  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

/// Kinds of the units that stream: embedding, blocks 0 to layers-1, and head (final norm and
/// lm_head), in this order.
enum class UnitKind { embed, block, head };

struct Unit {
  UnitKind kind;
  std::int64_t layer;  ///< Block number; 0 for embedding and head.
};

/// One tensor in its unit's flat parameter vector, row-major [rows, cols]; a vector has one row.
struct TensorSpec {
  std::string name;  ///< Hugging Face name, such as "model.layers.3.mlp.up_proj.weight".
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t
      offset;  ///< Elements from the start of the unit's vector; a multiple of kTensorAlign.
  /// Whether weight decay applies to the tensor: true for matrices, false for norms and biases.
  bool decays;
  [[nodiscard]] std::int64_t size() const { return rows * cols; }
};

/// Alignment of a tensor in its unit's vector, in elements: 64 bytes of bf16.
inline constexpr std::int64_t kTensorAlign = 32;

/// Parts of the names of experts' and routers' tensors, as a family's checkpoints have them.
struct ExpertNames {
  std::string router;   ///< Name of the router's weight in a block, such as "mlp.gate.weight".
  std::string experts;  ///< Prefix before an expert's number, such as "mlp.experts.".
  /// Ends of the names of an expert's gate, up and down weights, behind the expert's number, such
  /// as ".gate_proj.weight".
  std::string gate, up, down;
};
[[nodiscard]] ExpertNames expert_names(Family family);

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
/// Range of a block's experts in its vector: expert i is elements [first + i stride, first + (i +
/// 1) stride), and the vector ends with the last expert. Only for families whose experts are one
/// range each.
struct ExpertRange {
  std::int64_t first, stride;
};
[[nodiscard]] ExpertRange expert_range(const ModelShape& shape);
/// UnitTensors::padded_size of the unit `index`, computed without making the names of its tensors.
[[nodiscard]] std::int64_t unit_padded_size(const ModelShape& shape, std::size_t index);

/// Number of parameters of the model; a tied head counts once.
[[nodiscard]] std::int64_t parameter_count(const ModelShape& shape);
/// Parameters that take part in a matrix product for each token: lm_head counts, the embedding
/// lookup does not.
[[nodiscard]] std::int64_t matmul_parameters(const ModelShape& shape);
/// Training FLOPs of one token: 6 x matmul parameters + 6 x layers x heads x head_dim x seq_len.
[[nodiscard]] Flops model_flops_per_token(const ModelShape& shape, std::int64_t seq_len);

/// Throws BadRequest `WHERE: FIELD: reason`, with fields named as in config.json, for sizes below
/// one or beyond reason, heads that kv_heads does not divide, an odd head_dim, ...
void validate(const ModelShape& shape, const std::string& where);

/// Name of the family, as config.json has it in `model_type`.
const char* to_string(Family family);

/// The shape that a config.json states, with transformers' defaults for keys that it leaves out;
/// `where` names the file in errors. Throws BadRequest naming the field (unknown family, wrong
/// field, unsupported activation or rope_scaling).
[[nodiscard]] ModelShape shape_from_config(const std::string& json_text, const std::string& where);
/// The config.json text from which transformers would build `shape`.
[[nodiscard]] std::string config_from_shape(const ModelShape& shape);

}  // namespace sluice::planner
