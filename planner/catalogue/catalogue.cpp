#include "planner/catalogue/catalogue.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "planner/catalogue/catalogue_files.hpp"
#include "planner/catalogue/composed_machine.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/machines/profile_file.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"
#include "sim/nearest_name.hpp"

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

std::vector<CatalogueMachine> read_machines() {
  std::vector<CatalogueMachine> machines;
  for (const Build& build : builds()) machines.push_back({build.name});
  return machines;
}

MachineProfile machine_of(const Build& build) {
  if (!build.profile) {
    MachineProfile machine = compose(build.parts);
    machine.name = build.name;
    return machine;
  }
  for (const CatalogueFile& file : catalogue_machines_files()) {
    if (file.name == *build.profile) return profile_from_json(file.text, "machine " + build.name);
  }
  throw std::logic_error("the catalogue has no profile " + *build.profile);
}

template <class Entry>
const Entry* find_entry(const std::vector<Entry>& entries, const std::string& name) {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  return found == entries.end() ? nullptr : &*found;
}

template <class Entry>
std::vector<std::string> names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const Entry& entry : entries) names.push_back(entry.name);
  return names;
}

bool looks_like_path(const std::string& name) {
  return name.ends_with(".json") || name.starts_with("/") || name.starts_with("./") ||
         name.starts_with("../") || name.starts_with("~");
}

}  // namespace

const std::vector<CatalogueModel>& catalogue_models() {
  static const std::vector<CatalogueModel> models = read_models();
  return models;
}

const std::vector<CatalogueMachine>& catalogue_machines() {
  static const std::vector<CatalogueMachine> machines = read_machines();
  return machines;
}

ModelShape find_model(const std::string& name) {
  if (const CatalogueModel* model = find_entry(catalogue_models(), name)) {
    ModelShape shape = shape_from_config(model->config, "model " + name);
    shape.name = name;
    return shape;
  }
  std::filesystem::path config = name;
  if (std::filesystem::is_directory(config)) config /= "config.json";
  if (std::filesystem::is_regular_file(config)) {
    ModelShape shape = shape_from_config(read_whole_file(config), config.string());
    const auto folder = std::filesystem::absolute(config).parent_path().filename().string();
    shape.name = config.filename() == "config.json" ? folder : config.stem().string();
    return shape;
  }
  if (looks_like_path(name)) {
    throw BadRequest("model: there is no file " + config.string() +
                     ": give a catalogue name (sluice models), a config.json or a model folder");
  }
  if (std::ranges::count(name, '/') == 1) {
    if (const auto cached = cached_config(name)) {
      ModelShape shape = shape_from_config(read_whole_file(*cached), cached->string());
      shape.name = name;
      return shape;
    }
    throw BadRequest("model: " + name + " is neither a folder nor in the Hugging Face cache: hf " +
                     "download " + name + " config.json");
  }
  throw BadRequest("model: \"" + name + "\" is unknown" +
                   sim::did_you_mean(name, names_of(catalogue_models())) +
                   " (sluice models lists the names; a config.json or a folder is taken too)");
}

MachineProfile find_machine(const std::string& name, std::optional<DeviceKind> backend) {
  if (name == "here") {
    if (auto probed = Store::of_user().newest_profile(backend)) return *probed;
    if (backend == DeviceKind::cuda) {
      throw BadRequest(
          "machine: here has no probe of a GPU: run sluice probe --backend cuda "
          "first, or name a machine (sluice machines)");
    }
    return here_estimate();
  }
  if (const Build* build = find_build(name)) return machine_of(*build);
  if (std::filesystem::is_regular_file(name)) return read_profile(name);
  if (const auto parts = looks_like_path(name) ? std::nullopt : find_composition(name)) {
    if (const Build* build = find_build(to_text(*parts))) return machine_of(*build);
    return compose(*parts);
  }
  if (looks_like_path(name)) {
    throw BadRequest("machine: there is no file " + name +
                     ": give a catalogue name (sluice machines), here, or a profile file");
  }
  std::vector<std::string> names = names_of(catalogue_machines());
  names.emplace_back("here");
  throw BadRequest("machine: \"" + name + "\" is unknown" + sim::did_you_mean(name, names) +
                   " (sluice machines lists the names; a profile file is taken too)");
}

}  // namespace sluice::planner
