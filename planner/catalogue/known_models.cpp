#include "planner/catalogue/known_models.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "planner/catalogue/catalogue_files.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

std::vector<CatalogueModel> read_models() {
  std::vector<CatalogueModel> models;
  for (const CatalogueFile& file : catalogue_models_files()) {
    const sim::JsonDocument parsed = sim::parse_json(file.text, "catalogue model " + file.name);
    const sim::JsonObject json(parsed, "catalogue model " + file.name);
    models.push_back({.name = json.text("name"),
                      .hf_id = json.text("hf_id"),
                      .source = json.text("source"),
                      .config = sim::json_tree(json.value("config")).dump(2)});
  }
  std::ranges::sort(models, {}, &CatalogueModel::name);
  return models;
}

}  // namespace

const std::vector<CatalogueModel>& catalogue_models() {
  static const std::vector<CatalogueModel> models = read_models();
  return models;
}

}  // namespace sluice::planner
