#include "planner/catalogue/catalogue_files.hpp"

namespace sluice::planner {
namespace {

const std::vector<CatalogueFile>& nothing() {
  static const std::vector<CatalogueFile> files;
  return files;
}

}  // namespace

const std::vector<CatalogueFile>& catalogue_models_files() { return nothing(); }
const std::vector<CatalogueFile>& catalogue_machines_files() { return nothing(); }
const std::vector<CatalogueFile>& catalogue_gpus_files() { return nothing(); }
const std::vector<CatalogueFile>& catalogue_parts_files() { return nothing(); }
const std::vector<CatalogueFile>& catalogue_kernels_files() { return nothing(); }
const std::vector<CatalogueFile>& catalogue_prices_files() { return nothing(); }

}  // namespace sluice::planner
