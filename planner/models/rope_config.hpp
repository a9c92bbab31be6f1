// Rotary position embedding as config.json states it: rope_theta, rope_scaling, rope_parameters.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "planner/models/shape.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

/// Where a config.json states the RoPE of some of a model's layers.
struct RotaryKeys {
  /// Type of the layers, by which rope_parameters may be keyed.
  const char* type = "full_attention";
  const char* theta = "rope_theta";      ///< Key of the base at the top level.
  const char* scaling = "rope_scaling";  ///< Key of the scaling; null for layers without one.
  std::optional<double> usual_theta{};   ///< Base where none is stated; none for the family's.
};

/// The rotary table that `config` states for some layers of a model whose family, head_dim and
/// max_positions are read already. Kinds: default, linear, llama3, yarn, and longrope with its
/// lists; others are refused by name. Since transformers 5 the base is inside rope_parameters,
/// which may be keyed by layer type; before, it stands at the top level beside rope_scaling. Throws
/// BadRequest where both spellings are given and differ, and for embeddings of a part of each head
/// in families that turn whole ones.
[[nodiscard]] RotaryTable rotary_of(const sim::JsonObject& config, const ModelShape& shape,
                                    const RotaryKeys& keys);

/// Throws BadRequest where `config` states a base of RoPE other than the family's default at the
/// top level, beside no parameters of RoPE: `reason` says what transformers makes of that.
void refuse_theta_alone(const sim::JsonObject& config, const ModelShape& shape, const char* reason);

/// Gives `shape`, whose window is read already, the one table that all its layers use.
void read_rope(const sim::JsonObject& config, ModelShape& shape);

/// Growth of the softmax's logits with the context (arXiv 2309.00071, equation 22).
[[nodiscard]] double yarn_magnitude(double factor, double mscale);

/// The value of rope_scaling that reads back as `scaling`; null for no scaling.
[[nodiscard]] nlohmann::ordered_json rope_json(const RopeScaling& scaling);

/// Key of the growth of queries with their position, beside the scaling.
inline constexpr const char* kQueryGrowth = "llama_4_scaling_beta";

/// Adds to `json`, the scaling of RoPE, what it states of the scale of scores: the growth of
/// queries (ministral3), and mscale_all_dim of yarn in latent attention.
void add_scale_keys(const ModelShape& shape, nlohmann::ordered_json& json);

/// The value of rope_parameters, as transformers 5 writes it, that reads back as the tables of
/// `shape`: keyed by layer type where there are several.
[[nodiscard]] nlohmann::ordered_json rope_parameters_json(const ModelShape& shape);

}  // namespace sluice::planner
