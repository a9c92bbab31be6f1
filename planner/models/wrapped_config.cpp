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
constexpr std::array kTextModels = {TextModel{"gemma3", "gemma3_text"},
                                    TextModel{"mistral3", "mistral"},
                                    TextModel{"qwen2_vl", "qwen2"},
                                    TextModel{"qwen2_vl_text", "qwen2"},
                                    TextModel{"qwen2_5_vl", "qwen2"},
                                    TextModel{"qwen2_5_vl_text", "qwen2"},
                                    TextModel{"qwen3_vl", "qwen3"},
                                    TextModel{"qwen3_vl_text", "qwen3"},
                                    TextModel{"qwen3_vl_moe", "qwen3_moe"},
                                    TextModel{"qwen3_vl_moe_text", "qwen3_moe"},
                                    TextModel{"gemma4", "gemma4_text"},
                                    TextModel{"gemma4_unified", "gemma4_text"},
                                    TextModel{"qwen3_5", "qwen3_5_text"},
                                    TextModel{"qwen3_5_text", "qwen3_5_text"},
                                    TextModel{"qwen3_5_moe", "qwen3_5_moe_text"},
                                    TextModel{"qwen3_5_moe_text", "qwen3_5_moe_text"}};

/// The entry of a model_type; null where it has none.
const TextModel* find_text_model(const std::string& model_type) {
  const auto* found = std::ranges::find_if(
      kTextModels, [&](const TextModel& model) { return model_type == model.model_type; });
  return found == kTextModels.end() ? nullptr : found;
}

}  // namespace

std::optional<sim::JsonObject> wrapped_text_config(const sim::JsonObject& config) {
  if (!config.has("text_config") || !config.value("text_config").is_object()) return std::nullopt;
  return config.find_object("text_config");
}

std::string text_model_type(const std::string& model_type) {
  const TextModel* found = find_text_model(model_type);
  return found == nullptr ? model_type : found->family;
}

bool is_text_model_of_wrapper(const std::string& model_type) {
  return find_text_model(model_type) != nullptr;
}

}  // namespace sluice::planner
