#include "engine/examples/dataset_info.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "engine/examples/registry_entry.hpp"
#include "engine/model_files/strict_json.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;
using std::filesystem::path;

constexpr int kMostRegistryLevels = 16;
constexpr const char* kRegistryName = "dataset_info.json";

json read_registry(const path& registry) {
  json document =
      parse_strict_json(planner::read_whole_file(registry), registry.string(), kMostRegistryLevels);
  if (!document.is_object()) throw BadRequest(registry.string() + ": must be an object by name");
  return document;
}

/// The registry's entry for this file, if any: of several the first that can be read. Throws what
/// the first says where none can.
std::optional<Dataset> stated_beside(const path& file) {
  const path registry = file.parent_path() / kRegistryName;
  if (!std::filesystem::is_regular_file(registry)) return std::nullopt;
  const json document = read_registry(registry);
  std::optional<BadRequest> fault;
  for (const auto& [name, entry] : document.items()) {
    if (!entry.is_object() || entry.value("file_name", json()) != file.filename().string())
      continue;
    try {
      return registered_dataset(registry, name);
    } catch (const BadRequest& error) {
      if (!fault) fault = error;
    }
  }
  if (fault) throw BadRequest(*fault);
  return std::nullopt;
}

/// Whether the registry of `folder` has an entry of that name.
bool has_entry(const path& folder, const std::string& name) {
  const path registry = folder / kRegistryName;
  return std::filesystem::is_regular_file(registry) && read_registry(registry).contains(name);
}

std::optional<path> find_registry(const std::optional<path>& folder) {
  if (folder) {
    const path registry = *folder / kRegistryName;
    if (std::filesystem::exists(registry)) return registry;
    throw BadRequest("dataset_dir: there is no " + registry.string());
  }
  for (const path& registry : {path(kRegistryName), path("data") / kRegistryName}) {
    if (std::filesystem::exists(registry)) return registry;
  }
  return std::nullopt;
}

Dataset of_file(const path& file) {
  std::error_code unknown;  // What cannot be looked at is refused where it is read.
  if (!std::filesystem::is_regular_file(file, unknown)) return {.data = file};
  return stated_beside(file).value_or(Dataset{.data = file});
}

bool is_glob(const path& data) { return data.string().find_first_of("*?[") != std::string::npos; }

[[noreturn]] void refuse_missing(const std::string& name) {
  const bool hub = std::count(name.begin(), name.end(), '/') == 1 && name.front() != '/' &&
                   name.front() != '.' && path(name).extension().empty();
  throw BadRequest(
      "data: there is no file " + name +
      (hub ? ", and the local cache has no data set of that id: hf download " + name +
                 " --repo-type dataset"
           : " (give a text or data file, a folder of them, or a name in a dataset_info.json)"));
}

}  // namespace

Dataset registered_dataset(const path& registry, const std::string& name) {
  const json document = read_registry(registry);
  const auto found = document.find(name);
  if (found == document.end()) {
    std::vector<std::string> names;
    names.reserve(document.size());
    for (const auto& [each, entry] : document.items()) names.push_back(each);
    throw BadRequest("data: there is no file " + name + ", and " + registry.string() +
                     " has no entry of that name" + sim::did_you_mean(name, names));
  }
  return RegistryEntry(*found, registry.string() + ": " + name).dataset(registry.parent_path());
}

Dataset find_dataset(const path& data, const std::optional<path>& folder) {
  std::error_code unknown;  // A name too long for a file is no file.
  // A folder of that name is no obstacle to a file of the data sets' folder.
  const bool beside = folder && std::filesystem::is_regular_file(*folder / data, unknown);
  if (beside && !std::filesystem::is_regular_file(data, unknown)) return of_file(*folder / data);
  // Nor is it to an entry of a registry that the run names.
  const bool is_folder = std::filesystem::is_directory(data, unknown);
  if (folder && is_folder && has_entry(*folder, data.string())) {
    return registered_dataset(*folder / kRegistryName, data.string());
  }
  if (std::filesystem::exists(std::filesystem::symlink_status(data, unknown))) return of_file(data);
  if (folder && std::filesystem::exists(*folder / data, unknown)) return of_file(*folder / data);
  if (is_glob(data)) return {.data = data};
  const std::string name = data.string();
  const bool is_name = name == data.filename().string();
  if (is_name) {
    if (const auto registry = find_registry(folder)) return registered_dataset(*registry, name);
  } else if (cached_data_set(name)) {
    return {.data = data};
  }
  refuse_missing(name);
}

}  // namespace sluice::engine
