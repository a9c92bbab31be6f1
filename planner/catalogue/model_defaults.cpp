#include "planner/catalogue/model_defaults.hpp"

#include "planner/catalogue/model_source.hpp"
#include "planner/models/config_notes.hpp"
#include "sim/error.hpp"

namespace sluice::planner {

std::optional<std::string> default_sizes_note(const std::string& model) {
  if (model.empty()) return std::nullopt;
  try {
    const ModelSource source = find_model_source(model);
    if (source.known != nullptr) return std::nullopt;
    const std::string text = config_text(source);
    const ModelShape shape = shape_from_config(text, source.config.string());
    const auto sizes = defaulted_sizes(text, shape);
    if (sizes.empty()) return std::nullopt;
    return "model: " + defaults_text(sizes);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace sluice::planner
