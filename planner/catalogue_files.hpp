// The JSON files of planner/catalogue as the build wrote them into the program.
#pragma once

#include <string>
#include <vector>

namespace sluice::planner {

struct CatalogueFile {
  std::string name;  ///< File name without ".json".
  std::string text;
};

[[nodiscard]] const std::vector<CatalogueFile>& catalogue_models_files();
[[nodiscard]] const std::vector<CatalogueFile>& catalogue_machines_files();
/// Named as the machine whose kernels they are.
[[nodiscard]] const std::vector<CatalogueFile>& catalogue_kernels_files();

}  // namespace sluice::planner
