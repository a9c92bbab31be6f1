// Windows of attention as config.json states them: sliding_window, use_sliding_window,
// max_window_layers, layer_types.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/models/shape.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

/// The attention window, in tokens, that all layers of `shape` share, of which family and layers
/// are read already; none for full attention. Throws BadRequest naming the key for layers that
/// differ, and for keys of which transformers makes another model than they say.
[[nodiscard]] std::optional<std::int64_t> sliding_window_of(const sim::JsonObject& config,
                                                            const ModelShape& shape);

}  // namespace sluice::planner
