#include "engine/model_files/text_names.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace sluice::engine {
namespace {

constexpr std::string_view kNewer = "model.language_model.", kOlder = "language_model.",
                           kModelPrefix = "model.", kHeadPrefix = "lm_head.",
                           kLayers = "model.layers.";

/// Beginnings of names that are never of a text model.
constexpr std::array<std::string_view, 14> kOthers = {
    "mtp.",          "model.mtp.",           "visual.",
    "model.visual.", "vision_tower.",        "model.vision_tower.",
    "vision_model.", "model.vision_model.",  "multi_modal_projector.",
    "audio_tower.",  "model.audio_tower.",   "model.multi_modal_projector.",
    "embed_vision.", "model.vision_adapter."};

/// The number of the layer that a tensor belongs to, if it belongs to one.
std::optional<std::int64_t> layer_of(std::string_view name) {
  if (!name.starts_with(kLayers)) return std::nullopt;
  name.remove_prefix(kLayers.size());
  std::int64_t layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  if (error != std::errc() || end == name.data() + name.size() || *end != '.') return std::nullopt;
  return layer;
}

/// Name without what the form puts before it; none for a tensor outside the text model.
std::optional<std::string> stripped(TextNames form, const std::string& name) {
  switch (form) {
    case TextNames::own:
      return name;
    case TextNames::model_language_model:
      if (name.starts_with(kNewer)) return std::string(kModelPrefix) + name.substr(kNewer.size());
      if (name.starts_with(kHeadPrefix)) return name;
      return std::nullopt;
    case TextNames::language_model:
      if (name.starts_with(kOlder)) return name.substr(kOlder.size());
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

TextNames text_names_of(const std::set<std::string>& names) {
  const auto begins = [&](std::string_view prefix) {
    const auto at = names.lower_bound(std::string(prefix));
    return at != names.end() && at->starts_with(prefix);
  };
  if (begins(kNewer)) return TextNames::model_language_model;
  if (begins("language_model.model.")) return TextNames::language_model;
  return TextNames::own;
}

std::optional<std::string> text_name(TextNames form, const std::string& name, std::int64_t layers,
                                     std::int64_t prediction_layers) {
  auto own = stripped(form, name);
  if (!own) return std::nullopt;
  const bool other = std::ranges::any_of(
      kOthers, [&](std::string_view prefix) { return own->starts_with(prefix); });
  if (other) return std::nullopt;
  const auto layer = layer_of(*own);
  if (layer && *layer >= layers && *layer < layers + prediction_layers) return std::nullopt;
  return own;
}

std::string checkpoint_name_of(TextNames form, const std::string& name) {
  switch (form) {
    case TextNames::own:
      return name;
    case TextNames::model_language_model:
      return name.starts_with(kModelPrefix) ? std::string(kNewer) + name.substr(kModelPrefix.size())
                                            : name;
    case TextNames::language_model:
      return std::string(kOlder) + name;
  }
  return name;
}

}  // namespace sluice::engine
