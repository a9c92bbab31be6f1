// Names of a text model's tensors in checkpoints of larger models that contain it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace sluice::engine {

/// How a checkpoint's names differ from those of its text model alone.
enum class TextNames {
  own,                   ///< "model.X" and "lm_head.X".
  model_language_model,  ///< "model.language_model.X" and "lm_head.X" (transformers 5).
  language_model,        ///< "language_model.model.X" and "language_model.lm_head.X".
};

/// The form that a checkpoint with these names of tensors has.
[[nodiscard]] TextNames text_names_of(const std::set<std::string>& names);

/// Name that the text model alone would give to a checkpoint's tensor. None for a tensor that is no
/// part of the text model and is carried from import to export: those of vision, audio and
/// projectors, and of the heads that predict several tokens, be they called "mtp." or be they the
/// `prediction_layers` layers that follow the model's `layers`.
[[nodiscard]] std::optional<std::string> text_name(TextNames form, const std::string& name,
                                                   std::int64_t layers,
                                                   std::int64_t prediction_layers);

/// Name that a checkpoint of this form gives to the text model's tensor `name`.
[[nodiscard]] std::string checkpoint_name_of(TextNames form, const std::string& name);

}  // namespace sluice::engine
