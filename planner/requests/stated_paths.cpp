#include "planner/requests/stated_paths.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>

#include "planner/catalogue/known_models.hpp"

namespace sluice::planner {
namespace {

using std::filesystem::path;

constexpr const char* kRegistry = "dataset_info.json";

/// Whether there is something at a path, or for a glob, whether its first folder is there.
bool leads_somewhere(const path& place) {
  path there;
  for (const path& part : place) {
    if (part.string().find_first_of("*?[") != std::string::npos) break;
    there /= part;
  }
  std::error_code error;
  return std::filesystem::exists(there, error);
}

/// `given` within `folder` if it leads to something there, else as it is.
path within(const path& given, const path& folder) {
  if (given.empty() || given.is_absolute()) return given;
  path there = (folder / given).lexically_normal();
  return leads_somewhere(there) ? there : given;
}

void lead(std::optional<path>& given, const path& folder) {
  if (given) given = within(*given, folder);
}

/// Leads a text that is either a name or, with a slash or one of the extensions, a file's path.
void lead_file(std::string& given, const path& folder,
               std::initializer_list<const char*> extensions) {
  const path file = given;
  const bool is_file = given.find('/') != std::string::npos ||
                       std::ranges::any_of(extensions, [&file](const char* extension) {
                         return file.extension() == extension;
                       });
  if (is_file) given = within(file, folder).string();
}

bool is_bare(const path& name) { return name == name.filename() && !name.has_extension(); }

void lead_data(RunConfig& config, const path& folder) {
  lead(config.dataset_dir, folder);
  for (DataEntry& entry : config.data) {
    // A bare name is looked up in the registry of dataset_dir first.
    if (config.dataset_dir && is_bare(entry.name)) continue;
    const path there = within(entry.name, folder);
    const bool registered = there == entry.name && is_bare(entry.name);
    entry.name = there;
    if (!registered || config.dataset_dir) continue;
    for (const path& place : {folder, folder / "data"}) {
      if (!config.dataset_dir && leads_somewhere(place / kRegistry)) config.dataset_dir = place;
    }
  }
  lead(config.data_mask, folder);
}

}  // namespace

void lead_paths_to(RunConfig& config, const path& folder) {
  const auto& models = catalogue_models();
  if (std::ranges::find(models, config.model, &CatalogueModel::name) == models.end()) {
    config.model = within(config.model, folder).string();
  }
  lead_data(config, folder);
  if (config.chat_template) lead_file(*config.chat_template, folder, {".jinja"});
  lead_file(config.machine, folder, {".json"});
  lead(config.plan, folder);
  if (config.policy) lead_file(*config.policy, folder, {".yaml", ".yml"});
  lead(config.disk_path, folder);
  const auto kernels = config.machine_overrides.find(kKernelsFile);
  if (kernels != config.machine_overrides.end()) {
    kernels->second = within(kernels->second, folder).string();
  }
}

void lead_to_working_folder(RunConfig& config) {
  if (!config.working_folder) return;
  std::error_code error;
  if (std::filesystem::equivalent(*config.working_folder, ".", error)) return;
  lead_paths_to(config, *config.working_folder);
}

}  // namespace sluice::planner
