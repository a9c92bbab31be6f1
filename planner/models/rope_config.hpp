// RoPE as config.json states it: rope_theta, and rope_scaling or rope_parameters.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "planner/models/shape.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

/// Reads theta and scaling into `shape`. Kinds: default, linear, llama3, yarn; others are refused
/// by name. transformers 5 writes rope_parameters with rope_theta inside; before it rope_theta
/// stands at the top and rope_scaling beside it.
void read_rope(const sim::JsonObject& config, ModelShape& shape);

/// The value of rope_scaling that reads back to `scaling`; null for none.
[[nodiscard]] nlohmann::ordered_json rope_json(const RopeScaling& scaling);

}  // namespace sluice::planner
