// Rotary position embedding as config.json states it: rope_theta, rope_scaling, rope_parameters.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "planner/models/shape.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

/// Reads the base and scaling of RoPE from `config` into `shape`, of which family, window and
/// max_positions are read already. Kinds: default, linear, llama3 and yarn; others are refused by
/// name. Since transformers 5 rope_theta is inside rope_parameters, which may be keyed by layer
/// type; before, it stands at the top level beside rope_scaling. Throws BadRequest where both
/// spellings are given and differ, and for embeddings of a part of each head.
void read_rope(const sim::JsonObject& config, ModelShape& shape);

/// The value of rope_scaling that reads back as `scaling`; null for no scaling.
[[nodiscard]] nlohmann::ordered_json rope_json(const RopeScaling& scaling);

/// The value of rope_parameters, as transformers 5 writes it, that reads back as base and scaling
/// of `shape`.
[[nodiscard]] nlohmann::ordered_json rope_parameters_json(const ModelShape& shape);

}  // namespace sluice::planner
