// The models that Sluice knows by name, built into the program.
#pragma once

#include <string>
#include <vector>

namespace sluice::planner {

struct CatalogueModel {
  std::string name;  ///< Catalogue name, such as "qwen2.5-7b".
  /// Hugging Face id, such as "Qwen/Qwen2.5-7B"; empty where the model exists only here.
  std::string hf_id;
  std::string source;  ///< Where its config.json comes from, and when it was read.
  std::string config;  ///< The config.json text.
};

/// All models of the catalogue, sorted by name.
[[nodiscard]] const std::vector<CatalogueModel>& catalogue_models();

}  // namespace sluice::planner
