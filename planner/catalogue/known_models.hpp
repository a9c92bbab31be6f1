// The models that Sluice knows by name, built into the program.
#pragma once

#include <string>
#include <vector>

namespace sluice::planner {

struct CatalogueModel {
  std::string name;  ///< The model's name in the catalogue, such as "qwen2.5-7b".
  /// Hugging Face id, such as "Qwen/Qwen2.5-7B"; empty where the model exists only in the
  /// catalogue.
  std::string hf_id;
  std::string source;  ///< Where the model's config.json comes from, and when it was read.
  std::string config;  ///< Text of the model's config.json.
};

/// All models of the catalogue, sorted by name.
[[nodiscard]] const std::vector<CatalogueModel>& catalogue_models();

}  // namespace sluice::planner
