// Windows of attention as config.json states them: sliding_window, use_sliding_window,
// max_window_layers, layer_types.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/models/shape.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

/// Whether each layer of a qwen2 or qwen3 model has a window: only where use_sliding_window says
/// so, in the layers from max_window_layers on unless layer_types says otherwise.
[[nodiscard]] std::vector<bool> qwen_windows(const sim::JsonObject& config,
                                             const ModelShape& shape);

/// Window of all layers of a qwen model with experts. transformers before 4.53 leaves the first
/// max_window_layers layers without one, later versions do not look at that key.
[[nodiscard]] std::optional<std::int64_t> qwen_moe_window(const sim::JsonObject& config,
                                                          const ModelShape& shape);

/// The value of sliding_window, or the family's default; none where it is null.
[[nodiscard]] std::optional<std::int64_t> window_size(const sim::JsonObject& config,
                                                      const ModelShape& shape);

/// Throws BadRequest where layer_types says otherwise than that all layers have the window `size`,
/// or none where that is none, of a family whose models do not look at layer_types.
void require_layer_types(const sim::JsonObject& config, const ModelShape& shape,
                         std::optional<std::int64_t> size);

}  // namespace sluice::planner
