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
/// Whole machines that were measured.
[[nodiscard]] const std::vector<CatalogueFile>& catalogue_machines_files();
/// Profiles of machines whose GPU was measured and whose host was not: what parts refer to.
[[nodiscard]] const std::vector<CatalogueFile>& catalogue_gpus_files();
/// gpus, cpus, ssds, builds (planner/catalogue/parts.hpp), cases
/// (planner/catalogue/validated_case.hpp).
[[nodiscard]] const std::vector<CatalogueFile>& catalogue_parts_files();
/// Named as the machine whose kernels they are.
[[nodiscard]] const std::vector<CatalogueFile>& catalogue_kernels_files();

}  // namespace sluice::planner
