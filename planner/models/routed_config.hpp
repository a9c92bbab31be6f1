// Experts behind a few dense layers as DeepSeek's and GLM's configs state them, for readers of
// families.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "planner/models/shape.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

/// What a class says of experts where a config does not.
struct UsualRouting {
  Experts experts;
  std::int64_t shared =
      1;                   ///< Experts that every token passes through, each as wide as the others.
  std::int64_t dense = 1;  ///< Dense layers before the first with experts.
};

/// Reads experts, and which layers have them: all behind the first `first_k_dense_replace`, or
/// those that mlp_layer_types names, which must be the last ones.
void read_routed(const sim::JsonObject& config, ModelShape& shape, const UsualRouting& usual);

/// Writes the keys that read_routed reads, without mlp_layer_types.
void write_routed(const ModelShape& shape, nlohmann::ordered_json& json);

/// The value of mlp_layer_types: "dense" or "sparse" for each layer.
[[nodiscard]] nlohmann::ordered_json mlp_layer_types_json(const ModelShape& shape);

}  // namespace sluice::planner
