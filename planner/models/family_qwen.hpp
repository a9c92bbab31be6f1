// Experts of Qwen's families, which several readers share.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "planner/models/shape.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

/// Reads experts of the layers that have any, onto kinds of layers that `shape` has already; a
/// dense MLP has the width of intermediate_size. `normalized`: what norm_topk_prob is where the key
/// is absent.
void read_qwen_experts(const sim::JsonObject& config, ModelShape& shape, bool normalized);

/// Adds the keys that read_qwen_experts reads.
void write_qwen_experts(const ModelShape& shape, nlohmann::ordered_json& json);

}  // namespace sluice::planner
