// Where a model's name leads: the catalogue, a config.json, a folder, a run or the Hugging Face
// cache.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "planner/catalogue/known_models.hpp"

namespace sluice::planner {

struct ModelSource {
  enum class Kind {
    catalogue,  ///< The name of a model of the catalogue, which has its shape and no weights.
    hub_name,   ///< A Hugging Face id that is not in the cache and whose shape the catalogue has.
    config,     ///< The path of a config.json: a shape and no weights.
    folder,     ///< A model's or a checkpoint's folder, with config.json, weights and tokenizer.
    run,  ///< A run's folder, or its folder of checkpoints; it stands for the newest checkpoint.
    snapshot,  ///< A model's id, which stands for its snapshot in the Hugging Face cache.
  };
  Kind kind = Kind::catalogue;
  /// The catalogue's model for Kind::catalogue and Kind::hub_name; null for other kinds.
  const CatalogueModel* known = nullptr;
  /// Path of the config.json; empty for Kind::catalogue and Kind::hub_name, whose text the
  /// catalogue has.
  std::filesystem::path config;
  std::string name;  ///< Name of the model in outputs.
  /// Folder of weights and tokenizer; none where the name gives a shape alone.
  [[nodiscard]] std::optional<std::filesystem::path> folder() const;
};

/// Finds what find_model (planner/catalogue/catalogue.hpp) reads. Throws BadRequest with the
/// nearest name, what is missing, or the command that downloads the model.
[[nodiscard]] ModelSource find_model_source(const std::string& name);

/// Name in outputs of the model called `name`; of one that is no longer there, the last part of its
/// path.
[[nodiscard]] std::string model_name(const std::string& name);

/// Text of the config.json that `source` leads to.
[[nodiscard]] std::string config_text(const ModelSource& source);

}  // namespace sluice::planner
