// Files of planner/catalogue, as the build embeds them in the program.
#pragma once

#include <string>
#include <vector>

namespace sluice::planner {

struct CatalogueFile {
  std::string name;  ///< Name of the file, without its ending.
  std::string text;
};

[[nodiscard]] const std::vector<CatalogueFile>& catalogue_models_files();
/// Files of the profiles of whole machines, all measured.
[[nodiscard]] const std::vector<CatalogueFile>& catalogue_machines_files();
/// Profiles of machines whose GPU was measured and whose host was not; GPU parts take their kernel
/// rates from them.
[[nodiscard]] const std::vector<CatalogueFile>& catalogue_gpus_files();
/// The catalogue's files of parts and of validated cases: gpus, cpus, ssds and builds
/// (planner/catalogue/parts.hpp), fabrics (planner/catalogue/fabrics.hpp), hosts of nodes
/// (planner/catalogue/several_gpus.hpp) and cases (planner/catalogue/validated_case.hpp).
[[nodiscard]] const std::vector<CatalogueFile>& catalogue_parts_files();
/// Kernel models; each file has the name of the machine whose kernels it describes.
[[nodiscard]] const std::vector<CatalogueFile>& catalogue_kernels_files();
/// Examples of price files (planner/requests/prices.hpp), to be replaced by their reader's own.
[[nodiscard]] const std::vector<CatalogueFile>& catalogue_prices_files();

}  // namespace sluice::planner
