#include "planner/models/wrapped_config.hpp"

#include <algorithm>
#include <array>

namespace sluice::planner {
namespace {

struct TextModel {
  const char* model_type;  ///< Type of a wrapper or of the text model inside it.
  const char* family;      ///< model_type of the family that computes the text model.
};

/// Wrappers and text models by name. Rotary embeddings of three axes are ordinary ones for
/// positions of text.
constexpr std::array kTextModels = {
    TextModel{"gemma3", "gemma3_text"},     TextModel{"mistral3", "mistral"},
    TextModel{"qwen2_vl", "qwen2"},         TextModel{"qwen2_vl_text", "qwen2"},
    TextModel{"qwen2_5_vl", "qwen2"},       TextModel{"qwen2_5_vl_text", "qwen2"},
    TextModel{"qwen3_vl", "qwen3"},         TextModel{"qwen3_vl_text", "qwen3"},
    TextModel{"qwen3_vl_moe", "qwen3_moe"}, TextModel{"qwen3_vl_moe_text", "qwen3_moe"}};

}  // namespace

std::optional<sim::JsonObject> wrapped_text_config(const sim::JsonObject& config) {
  if (!config.has("text_config") || !config.value("text_config").is_object()) return std::nullopt;
  return config.find_object("text_config");
}

std::string text_model_type(const std::string& model_type) {
  const auto* found = std::ranges::find_if(
      kTextModels, [&](const TextModel& model) { return model_type == model.model_type; });
  return found == kTextModels.end() ? model_type : found->family;
}

}  // namespace sluice::planner
