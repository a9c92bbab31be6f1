// Finds model configurations in the cache that Hugging Face's tools keep on this computer.
#include <cstdlib>
#include <vector>

#include "planner/catalogue/catalogue.hpp"

namespace sluice::planner {
namespace {

/// Folder of huggingface_hub's models: models--OWNER--NAME/snapshots/REVISION/.
std::optional<std::filesystem::path> cache_folder() {
  const auto variable = [](const char* name) -> std::optional<std::filesystem::path> {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
  if (auto hub = variable("HF_HUB_CACHE")) return hub;
  if (const auto home = variable("HF_HOME")) return *home / "hub";
  if (const auto cache = variable("XDG_CACHE_HOME")) return *cache / "huggingface/hub";
  if (const auto home = variable("HOME")) return *home / ".cache/huggingface/hub";
  return std::nullopt;
}

}  // namespace

std::optional<std::filesystem::path> cached_config(const std::string& hf_id) {
  const auto cache = cache_folder();
  if (!cache) return std::nullopt;
  std::string folder = "models--" + hf_id;
  folder.replace(folder.find('/'), 1, "--");
  const auto snapshots = *cache / folder / "snapshots";
  if (!std::filesystem::is_directory(snapshots)) return std::nullopt;
  std::optional<std::filesystem::path> newest;
  for (const auto& snapshot : std::filesystem::directory_iterator(snapshots)) {
    const auto config = snapshot.path() / "config.json";
    if (!std::filesystem::exists(config)) continue;
    if (!newest ||
        std::filesystem::last_write_time(config) > std::filesystem::last_write_time(*newest)) {
      newest = config;
    }
  }
  return newest;
}

}  // namespace sluice::planner
