// Values that transformers' configuration classes give to keys that a config.json leaves out.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/models/shape.hpp"

namespace sluice::planner {

/// Defaults of one family's configuration class (transformers 4.51 to 5.24, which agree), each
/// named as the key in config.json. The values here are LlamaConfig's.
struct FamilyDefaults {
  std::int64_t vocab_size = 32000;
  std::int64_t hidden_size = 4096;
  std::int64_t intermediate_size = 11008;
  std::int64_t num_hidden_layers = 32;
  std::int64_t num_attention_heads = 32;
  /// Number of key-value heads; none for as many as there are heads.
  std::optional<std::int64_t> num_key_value_heads{};
  /// Whether null means as many key-value heads as heads; otherwise it is refused.
  bool null_key_value_heads = true;
  /// Elements of one attention head; none for hidden_size / num_attention_heads.
  std::optional<std::int64_t> head_dim{};
  const char* activation_key = "hidden_act";  ///< Key that names the activation.
  const char* activation = "silu";
  std::int64_t max_position_embeddings = 2048;
  double rms_norm_eps = 1e-6;
  bool tie_word_embeddings = false;
  double rope_theta = 10000;
  /// Scaling of RoPE where a config states neither rope_scaling nor rope_parameters.
  RopeScaling rope_scaling{};
  /// Share of each head that RoPE turns; none where the family's models do not look at the key.
  std::optional<double> partial_rotary_factor{};
  /// Whether checkpoints have the two elements of a rotated pair side by side.
  bool interleaved_rotary = false;
  /// Window of attention in tokens; none for all tokens. Qwen's classes use it only where
  /// use_sliding_window is true.
  std::optional<std::int64_t> sliding_window{};
  /// Experts of one block, 0 for dense blocks; mixtral and gpt_oss call the key num_local_experts.
  std::int64_t num_experts = 0;
  std::int64_t num_experts_per_tok = 0;  ///< Experts that one token passes through.
  /// Width of one expert's hidden layer; mixtral calls the key intermediate_size.
  std::int64_t moe_intermediate_size = 0;
  /// Dropout of attention and of the residual stream, which is not applied here.
  double dropout = 0;
};

[[nodiscard]] const FamilyDefaults& family_defaults(Family family);

}  // namespace sluice::planner
