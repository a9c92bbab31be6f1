// Configs of vision-language models whose text model is a family of its own.
#pragma once

#include <optional>
#include <string>

#include "sim/json_object.hpp"

namespace sluice::planner {

/// The text model's part of a wrapper's config.json; none where `config` is that of a text model,
/// or of a wrapper that has the text model's keys beside its own.
[[nodiscard]] std::optional<sim::JsonObject> wrapped_text_config(const sim::JsonObject& config);

/// The model_type of the family that computes a text model: that of qwen2 for "qwen2_5_vl_text";
/// `model_type` itself for other text models.
[[nodiscard]] std::string text_model_type(const std::string& model_type);

/// Whether a model_type is that of a model which also sees images, or of the text model inside one.
[[nodiscard]] bool is_text_model_of_wrapper(const std::string& model_type);

}  // namespace sluice::planner
