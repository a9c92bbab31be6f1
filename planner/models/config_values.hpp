// Values of config.json as transformers reads them, for readers of families.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "planner/models/shape.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

/// A whole number that transformers gives a default where the key is absent, and none where it is
/// null.
[[nodiscard]] std::int64_t integer_or(const sim::JsonObject& config, const char* key,
                                      std::int64_t otherwise);

/// The value of a key that must be true or false; `otherwise` where it is absent or null.
[[nodiscard]] bool boolean_or(const sim::JsonObject& config, const char* key, bool otherwise);

/// Refuses `key` where it is given and other than `only`, with a reason that says what is computed.
void require_only(const sim::JsonObject& config, const char* key, double only, const char* reason);

/// Whether each layer has a window of attention: as layer_types says, else as `otherwise` says of a
/// layer's number from 0. Throws BadRequest for a list of another length or with other types.
[[nodiscard]] std::vector<bool> sliding_layers(const sim::JsonObject& config,
                                               const ModelShape& shape,
                                               const std::function<bool(std::int64_t)>& otherwise);

/// Gives every layer of `shape` its kind; equal kinds become one.
void set_layers(ModelShape& shape, const std::vector<LayerKind>& layers);

/// The value of layer_types that reads back as the windows of `shape`.
[[nodiscard]] nlohmann::ordered_json layer_types_json(const ModelShape& shape);

/// The window of those layers that have one; null where none has.
[[nodiscard]] nlohmann::ordered_json window_json(const ModelShape& shape);

/// Number of experts of a block. transformers 5 takes either name of the key for the other; a
/// config that is read by older versions too has both.
[[nodiscard]] std::int64_t expert_count(const sim::JsonObject& config, std::int64_t otherwise);

}  // namespace sluice::planner
