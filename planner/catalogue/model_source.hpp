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
    catalogue,  ///< A name of the catalogue: a shape alone.
    hub_name,   ///< A Hugging Face id that is not in the cache and whose shape the catalogue has.
    config,     ///< A config.json that was named itself: a shape alone.
    folder,     ///< A model folder, or a checkpoint's.
    run,        ///< A run folder or its folder of checkpoints, which stands for the newest of them.
    snapshot,   ///< A snapshot in the Hugging Face cache.
  };
  Kind kind = Kind::catalogue;
  const CatalogueModel* known = nullptr;  ///< The catalogue's model; null for other kinds.
  std::filesystem::path config;           ///< The config.json; empty for the catalogue's models.
  std::string name;                       ///< Name of the model in outputs.
  /// Folder of weights and tokenizer; none where the name gives a shape alone.
  [[nodiscard]] std::optional<std::filesystem::path> folder() const;
};

/// Finds what find_model (planner/catalogue/catalogue.hpp) reads. Throws BadRequest with the
/// nearest name, what is missing, or the command that downloads the model.
[[nodiscard]] ModelSource find_model_source(const std::string& name);

/// Text of the config.json that the name leads to.
[[nodiscard]] std::string config_text(const ModelSource& source);

}  // namespace sluice::planner
