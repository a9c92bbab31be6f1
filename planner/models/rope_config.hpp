// Rotary position embedding as config.json states it: rope_theta, rope_scaling, rope_parameters.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "planner/models/shape.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

/// Reads the base and scaling of RoPE from `config` into `shape`. Kinds: default, linear, llama3
/// and yarn; others are refused by name. Since transformers 5 rope_theta is inside rope_parameters;
/// before, it stands at the top level beside rope_scaling.
void read_rope(const sim::JsonObject& config, ModelShape& shape);

/// The value of rope_scaling that reads back as `scaling`; null for no scaling.
[[nodiscard]] nlohmann::ordered_json rope_json(const RopeScaling& scaling);

}  // namespace sluice::planner
