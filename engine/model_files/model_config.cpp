#include "engine/model_files/model_config.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/model_files/model_folder.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"

namespace sluice::engine {

std::string model_config_text(const std::string& model) {
  for (const planner::CatalogueModel& known : planner::catalogue_models()) {
    if (known.name == model) return known.config;
  }
  if (const auto folder = find_model_folder(model)) {
    return planner::read_whole_file(*folder / "config.json");
  }
  return planner::read_whole_file(model);
}

std::string written_config(const std::string& config, ElementType type, const std::string& where) {
  using nlohmann::ordered_json;
  ordered_json json = sim::json_tree(sim::parse_json(config, where).root());
  const planner::ModelShape shape = planner::shape_from_config(config, where);
  if (!json.contains("architectures")) {
    const ordered_json own = ordered_json::parse(planner::config_from_shape(shape));
    json["architectures"] = own.at("architectures");
  }
  json["torch_dtype"] = torch_name(type);
  if (json.contains("dtype")) json["dtype"] = torch_name(type);
  return json.dump(2) + "\n";
}

}  // namespace sluice::engine
