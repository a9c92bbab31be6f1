#include "planner/catalogue/model_source.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>
#include <vector>

#include "planner/catalogue/hugging_face_cache.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {
namespace {

using std::filesystem::path;
using Kind = ModelSource::Kind;

bool is_path_word(const std::string& name) {
  return name.ends_with(".json") || name.starts_with("/") || name.starts_with("./") ||
         name.starts_with("../") || name.starts_with("~");
}

/// The newest of the folders step-N in `checkpoints` that hold a checkpoint; none where there is
/// none.
std::optional<path> newest_step(const path& checkpoints) {
  constexpr std::string_view kPrefix = "step-";
  std::optional<path> newest;
  std::int64_t most = -1;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(checkpoints, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    std::int64_t step = 0;
    const char* last = name.data() + name.size();
    const auto [at, wrong] = std::from_chars(name.data() + kPrefix.size(), last, step);
    if (wrong != std::errc{} || at != last || step <= most) continue;
    if (!std::filesystem::exists(entry->path() / "checkpoint.json")) continue;
    most = step;
    newest = entry->path();
  }
  return newest;
}

std::string folder_name(const path& folder) {
  const path whole = std::filesystem::absolute(folder).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

/// Why a folder without a config.json is no model, and what to do.
[[noreturn]] void refuse_folder(const path& folder) {
  std::string advice = ": give a folder with a config.json, or a config.json";
  if (std::filesystem::exists(folder / "run.yaml")) {
    throw BadRequest("model: the run " + folder.string() +
                     " holds no checkpoint: train it without --no-checkpoint");
  }
  if (std::filesystem::exists(folder / "params.json")) {
    advice = ", and params.json is of the original format: give the folder that transformers reads";
  } else if (std::filesystem::exists(folder / "adapter_config.json")) {
    advice = ", and adapter_config.json is of an adapter: merge it into its base";
  } else {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (!std::filesystem::exists(entry.path() / "config.json")) continue;
      advice = ": did you mean " + entry.path().string() + "?";
      break;
    }
  }
  throw BadRequest("model: " + folder.string() + " holds no config.json" + advice);
}

ModelSource of_folder(const path& folder) {
  const path config = folder / "config.json";
  if (std::filesystem::exists(config)) {
    return {.kind = Kind::folder, .config = config, .name = folder_name(folder)};
  }
  for (const path& checkpoints : {folder / "checkpoints", folder}) {
    if (const auto step = newest_step(checkpoints)) {
      return {.kind = Kind::run, .config = *step / "config.json", .name = folder_name(folder)};
    }
  }
  if (const auto id = hub_id_of(folder)) {
    if (const auto snapshot = snapshot_in(folder, *id, std::nullopt)) {
      return {.kind = Kind::snapshot, .config = *snapshot / "config.json", .name = *id};
    }
  }
  refuse_folder(folder);
}

/// Whether an empty folder is all that there is of a name, which may then be an id of the cache.
bool is_empty_folder(const path& given) {
  std::error_code error;
  return std::filesystem::is_empty(given, error) && !error;
}

bool equal_ids(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  });
}

/// A Hugging Face id, which may end with "@" and a branch, tag or commit.
ModelSource of_hub_id(const std::string& name) {
  const std::size_t at = name.find('@');
  const std::string id = name.substr(0, at);
  const auto revision = at == std::string::npos ? std::nullopt : std::optional(name.substr(at + 1));
  if (const auto snapshot = cached_snapshot(id, revision)) {
    if (!std::filesystem::exists(*snapshot / "config.json")) {
      throw BadRequest("model: " + name +
                       " is in the Hugging Face cache without its config.json: " +
                       download_command(id, revision));
    }
    return {.kind = Kind::snapshot, .config = *snapshot / "config.json", .name = name};
  }
  if (!revision) {
    for (const CatalogueModel& model : catalogue_models()) {
      if (equal_ids(model.hf_id, id)) {
        return {.kind = Kind::hub_name, .known = &model, .config = {}, .name = model.name};
      }
    }
  }
  throw BadRequest("model: " + name + " is neither a folder nor in the Hugging Face cache: " +
                   download_command(id, revision) +
                   " (its config.json alone is enough to predict: " +
                   download_command(id + " config.json", revision) + ")");
}

}  // namespace

std::optional<path> ModelSource::folder() const {
  if (kind == Kind::folder || kind == Kind::run || kind == Kind::snapshot) {
    return config.parent_path();
  }
  return std::nullopt;
}

std::string config_text(const ModelSource& source) {
  return source.known != nullptr ? source.known->config : read_whole_file(source.config);
}

std::string model_name(const std::string& name) {
  try {
    return find_model_source(name).name;
  } catch (const BadRequest&) {
    const path given = name;
    return folder_name(
        given.filename() == "config.json" ? std::filesystem::absolute(given).parent_path() : given);
  }
}

ModelSource find_model_source(const std::string& name) {
  const auto& models = catalogue_models();
  if (const auto known = std::ranges::find(models, name, &CatalogueModel::name);
      known != models.end()) {
    return {.kind = Kind::catalogue, .known = &*known, .config = {}, .name = name};
  }
  const path given = name;
  const bool is_id = !is_path_word(name) && std::ranges::count(name, '/') == 1;
  if (is_id && std::filesystem::is_directory(given) && is_empty_folder(given)) {
    return of_hub_id(name);
  }
  if (std::filesystem::is_directory(given)) return of_folder(given);
  if (std::filesystem::is_regular_file(given)) {
    if (given.extension() == ".safetensors" || given.extension() == ".gguf") {
      throw BadRequest("model: " + name + " is a file of weights: give the folder that it lies in");
    }
    const bool usual = given.filename() == "config.json";
    return {.kind = Kind::config,
            .config = given,
            .name = usual ? folder_name(std::filesystem::absolute(given).parent_path())
                          : given.stem().string()};
  }
  if (is_path_word(name)) {
    throw BadRequest("model: there is no file " + name +
                     ": give a catalogue name (sluice models), a config.json or a model folder");
  }
  const std::string id = name.substr(0, name.find('@'));
  if (std::ranges::count(id, '/') == 1) return of_hub_id(name);
  std::vector<std::string> names;
  names.reserve(models.size());
  for (const CatalogueModel& model : models) names.push_back(model.name);
  throw BadRequest("model: \"" + name + "\" is unknown" + sim::did_you_mean(name, names) +
                   " (sluice models lists the names; a config.json or a folder is taken too)");
}

}  // namespace sluice::planner
