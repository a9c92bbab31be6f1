// Model shapes: what a Hugging Face config.json says about sizes, and every tensor that follows
// from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace sluice::planner {

enum class Family { llama, mistral, qwen2, qwen3, qwen3_moe, mixtral, gpt_oss };

/// RoPE frequency scaling as in config.json's rope_scaling.
struct RopeScaling {
  enum class Kind { none, linear, llama3, yarn } kind = Kind::none;
  double factor = 1;
  double low_freq_factor = 1;               ///< llama3
  double high_freq_factor = 4;              ///< llama3
  std::int64_t original_max_positions = 0;  ///< llama3, yarn
  /// yarn: pairs that turn more often than `beta_fast` times over the original positions keep their
  /// frequency, those that turn less often than `beta_slow` times have it divided.
  double beta_fast = 32, beta_slow = 1;
  bool truncate = true;         ///< yarn: the range between them is widened to whole pairs.
  double attention_factor = 1;  ///< yarn: of cos and sin, as given or as it follows from the rest.
  friend bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

/// Feed-forward networks of which each token uses a few, chosen by a router.
struct Experts {
  std::int64_t count = 0;         ///< Of a block.
  std::int64_t active = 0;        ///< That a token goes through.
  std::int64_t intermediate = 0;  ///< Elements between a single expert's products.
  bool normalized = true;         ///< Shares of a token's active experts add up to 1.
  bool router_bias = false;       ///< Biases on the router (gpt_oss).
  friend bool operator==(const Experts&, const Experts&) = default;
};

/// A decoder: sizes are element counts. Where `experts` is set, they take the place of the dense
/// feed-forward network, and `intermediate` is what one token passes through, active experts
/// together.
struct ModelShape {
  std::string name;
  Family family = Family::llama;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  ///< Not necessarily hidden / heads.
  std::int64_t vocab = 0;
  bool tied_head = false;
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  bool attention_sinks = false;  ///< A learned logit of each head (gpt_oss).
  bool qk_norm = false;          ///< RMSNorm over head_dim on q and k (qwen3).
  double rms_eps = 1e-6;
  double rope_theta = 10000;
  RopeScaling rope_scaling;
  std::optional<Experts> experts;
  std::optional<std::int64_t> sliding_window;  ///< Keys visible to a query, itself included.
  double init_std = 0.02;
  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

/// The streaming units of a model, in order: embedding, blocks 0..layers-1, head (final norm +
/// lm_head).
enum class UnitKind { embed, block, head };

struct Unit {
  UnitKind kind;
  std::int64_t layer;  ///< Block number; 0 for embed and head.
};

/// One tensor in its unit's flat parameter vector, row-major [rows, cols]; vectors have rows 1.
struct TensorSpec {
  std::string name;  ///< Hugging Face name, e.g. "model.layers.3.mlp.up_proj.weight".
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t
      offset;   ///< Elements from the start of the unit's vector; a multiple of kTensorAlign.
  bool decays;  ///< Weight decay applies (matrices), not to norms and biases.
  [[nodiscard]] std::int64_t size() const { return rows * cols; }
};

inline constexpr std::int64_t kTensorAlign = 32;  ///< Elements: 64 bytes of bf16.

/// Names of a block's feed-forward experts and of their router, as a family's folders have them.
struct ExpertNames {
  std::string router;          ///< "mlp.gate.weight"
  std::string experts;         ///< "mlp.experts.", before an expert's number.
  std::string gate, up, down;  ///< ".gate_proj.weight", after it.
};
[[nodiscard]] ExpertNames expert_names(Family family);

/// The tensors of one unit of a unit kind in canonical order (docs/numerics.md). A tied head holds
/// only its norm.
struct UnitTensors {
  std::vector<TensorSpec> tensors;
  std::int64_t padded_size =
      0;  ///< Elements of the flat vector, padding included; a multiple of kTensorAlign.
  [[nodiscard]] std::int64_t parameters() const;  ///< Exact count, padding excluded.
};

[[nodiscard]] std::size_t unit_count(const ModelShape& shape);  ///< layers + 2
[[nodiscard]] Unit unit_at(const ModelShape& shape, std::size_t index);
[[nodiscard]] std::string unit_name(const ModelShape& shape,
                                    std::size_t index);  ///< "embed", "L0", ..., "head"
[[nodiscard]] UnitTensors unit_tensors(const ModelShape& shape, std::size_t index);
/// Where a block's experts lie: expert i is elements [first + i stride, first + (i + 1) stride) of
/// the block's vector, which ends with the last one. Of families whose experts are one range each.
struct ExpertRange {
  std::int64_t first, stride;
};
[[nodiscard]] ExpertRange expert_range(const ModelShape& shape);
/// Its padded_size, without making the names of thousands of experts' tensors.
[[nodiscard]] std::int64_t unit_padded_size(const ModelShape& shape, std::size_t index);

[[nodiscard]] std::int64_t parameter_count(const ModelShape& shape);  ///< Tied head counted once.
/// Parameters that take part in a matrix product per token (lm_head included, embedding lookup
/// not).
[[nodiscard]] std::int64_t matmul_parameters(const ModelShape& shape);
/// 6 x matmul parameters + 6 x layers x heads x head_dim x seq_len: training FLOPs of one token.
[[nodiscard]] Flops model_flops_per_token(const ModelShape& shape, std::int64_t seq_len);

/// Throws BadRequest `WHERE: FIELD: reason`, fields named as in config.json: sizes below one or
/// beyond reason, heads that kv_heads does not divide, an odd head_dim, ...
void validate(const ModelShape& shape, const std::string& where);

const char* to_string(Family family);  ///< model_type of config.json.

/// A shape from config.json text; `where` names it in errors. Throws BadRequest naming the field
/// (unknown family, missing or wrong field, unsupported activation or rope_scaling).
[[nodiscard]] ModelShape shape_from_config(const std::string& json_text, const std::string& where);
/// The config.json text transformers would read back for `shape`.
[[nodiscard]] std::string config_from_shape(const ModelShape& shape);

}  // namespace sluice::planner
