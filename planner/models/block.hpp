// What one transformer block computes, as data: norms, attention, rotary tables, activation and
// scales. A reader of config.json fills it; everything else reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::planner {

/// Function between the two products of an MLP. With g the gate's and u the up projection's output:
enum class Activation {
  silu,       ///< silu(g) u.
  gelu_tanh,  ///< gelu(g) u, with gelu approximated by tanh.
  relu2,      ///< relu(u)^2: there is no gate matrix.
  /// (min(max(u, -7), 7) + 1) g sigmoid(1.702 g), with g = min(g, 7) first (gpt_oss).
  clamped_swiglu,
};

/// Whether an MLP with this activation has a gate matrix beside its up matrix.
[[nodiscard]] constexpr bool has_gate(Activation activation) {
  return activation != Activation::relu2;
}

/// RMS norms that a block has. A norm before a sublayer reads the residual stream; one after it
/// reads the sublayer's output before that is added to the stream.
struct NormSlots {
  bool before_attention = true;
  bool after_attention = false;
  bool before_mlp = true;
  bool after_mlp = false;
  /// Whether every norm of the model multiplies by 1 + weight in fp32 rather than by weight
  /// (gemma); norms of q and k and the final one are among them.
  bool one_plus_weight = false;
  friend bool operator==(const NormSlots&, const NormSlots&) = default;
};

/// RMS norm of queries and keys, before they are rotated unless ModelShape::norm_behind_rotation.
enum class HeadNorm {
  none,
  per_head,             ///< Over each head's elements, with a weight of head_dim elements (qwen3).
  full_width,           ///< Over all heads together, with a weight for every element (olmo2).
  per_head_weightless,  ///< Over each head's elements, without a weight.
};

/// Frequency scaling of RoPE, as in config.json's rope_scaling.
struct RopeScaling {
  /// With `proportional` a table turns some elements of a head with the frequencies of the whole
  /// head (gemma4).
  enum class Kind { none, linear, llama3, yarn, longrope, proportional } kind = Kind::none;
  double factor = 1;
  /// Used by llama3: pairs of elements that RoPE rotates fewer times than this over the original
  /// positions have their frequency divided by `factor`.
  double low_freq_factor = 1;
  /// Used by llama3: pairs of elements that RoPE rotates more times than this over the original
  /// positions keep their frequency.
  double high_freq_factor = 4;
  /// Positions that the model was trained with before scaling; used by llama3, yarn and longrope.
  std::int64_t original_max_positions = 0;
  /// Used by yarn: pairs of elements that RoPE rotates more than `beta_fast` times over the
  /// original positions keep their frequency; those that it rotates less than `beta_slow` times
  /// have it divided by `factor`.
  double beta_fast = 32, beta_slow = 1;
  /// Used by yarn: widens the range between beta_slow and beta_fast to whole pairs.
  bool truncate = true;
  /// Used by yarn and longrope: factor of cosines and sines, as given or as it follows from the
  /// other values.
  double attention_factor = 1;
  /// Used by longrope: divisors of the pairs' frequencies, one for each pair. Sequences of at most
  /// original_max_positions tokens use the short ones, others the long ones.
  std::vector<double> short_factors{}, long_factors{};
  friend bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

/// One way to turn queries and keys by position; layers choose among a model's tables.
struct RotaryTable {
  double theta = 10000;
  RopeScaling scaling{};
  /// Leading elements of a head that turn, an even number; none for the whole head. Frequencies are
  /// those of a head of so many elements.
  std::optional<std::int64_t> rotated{};
  /// Whether a checkpoint's heads hold the two elements of a pair side by side (2i, 2i + 1). In
  /// memory a pair is always (i, i + rotated / 2): rows of q and k are permuted when they are read
  /// and written.
  bool interleaved = false;
  friend bool operator==(const RotaryTable&, const RotaryTable&) = default;
};

/// What mixes tokens in a layer.
enum class Mixer {
  attention,
  gated_delta_net,  ///< A linear recurrence, of the sizes in ModelShape::delta_net (qwen3_next).
};

/// What distinguishes layers of one model. Layers of one kind have tensors of the same sizes and
/// cost the same.
struct LayerKind {
  /// Keys visible to a query, itself included; none for all keys before it.
  std::optional<std::int64_t> window{};
  /// Index of the layer's rotary table in ModelShape::rotary; none for a layer without positions.
  std::optional<std::size_t> rotary = 0;
  Mixer mixer = Mixer::attention;
  /// Width of a dense MLP that stands in place of what ModelShape says of MLPs: of the experts in
  /// a model that has any, or of another width. None for what ModelShape says.
  std::optional<std::int64_t> dense_intermediate{};
  /// Sizes of heads where they differ from ModelShape's; none for those.
  std::optional<std::int64_t> kv_heads{}, head_dim{};
  /// Whether values are the projection that keys are made of: there is no v matrix (gemma4).
  bool values_are_keys = false;
  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

/// Constants that a model multiplies by, and bounds that it puts on scores and logits.
struct Scales {
  double embedding = 1;  ///< Factor of the embedding's rows on their way into the first block.
  /// Whether `embedding` is rounded to the compute type before it multiplies (gemma).
  bool embedding_rounded = false;
  /// Factor of attention's scores; none for head_dim^-1/2.
  std::optional<double> attention{};
  double residual = 1;  ///< Factor of each sublayer's output before it joins the residual stream.
  double logits = 1;    ///< Factor of the head's logits; it comes before their bound.
  /// Bounds c of scores and of logits, each of which becomes c tanh(x / c); none for no bound.
  std::optional<double> attention_softcap{}, logits_softcap{};
  /// Growth of queries with their position: the query at position p is multiplied by
  /// 1 + query_growth log(1 + floor(p / query_growth_from)), which is 1 before query_growth_from.
  /// 0 for no growth (ministral3).
  double query_growth = 0;
  std::int64_t query_growth_from = 0;
  friend bool operator==(const Scales&, const Scales&) = default;
};

[[nodiscard]] const char* to_string(Activation activation);
[[nodiscard]] const char* to_string(HeadNorm norm);
[[nodiscard]] const char* to_string(Mixer mixer);

}  // namespace sluice::planner
