#include "engine/rows/dataset_card.hpp"

#include <yaml-cpp/yaml.h>

#include "planner/files/whole_file.hpp"
#include "planner/files/yaml_document.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using std::filesystem::path;

/// The text between the two lines "---" at the beginning of a file; empty without them.
std::string front_matter(const std::string& text) {
  const std::size_t first = text.find('\n');
  if (first == std::string::npos || !text.starts_with("---")) return {};
  const std::size_t end = text.find("\n---", first);
  return end == std::string::npos ? std::string() : text.substr(first + 1, end - first);
}

std::vector<std::string> patterns_of(const YAML::Node& node) {
  std::vector<std::string> patterns;
  if (node.IsScalar()) return {node.Scalar()};
  for (const auto& each : node) patterns.push_back(each.Scalar());
  return patterns;
}

/// Adds the splits of `data_files`: a pattern or a list of them for the split train, a map of
/// splits, or a list of {split, path}.
void add_splits(const YAML::Node& files, CardConfig& config) {
  if (files.IsMap()) {
    for (const auto& each : files) {
      config.splits.emplace_back(each.first.Scalar(), patterns_of(each.second));
    }
    return;
  }
  const bool listed = files.IsSequence() && files.size() > 0 && files[0].IsMap();
  if (!listed) {
    config.splits.emplace_back("train", patterns_of(files));
    return;
  }
  for (const auto& each : files) {
    const YAML::Node split = each["split"];
    config.splits.emplace_back(split ? split.Scalar() : "train", patterns_of(each["path"]));
  }
}

CardConfig config_of(const YAML::Node& node) {
  CardConfig config;
  const YAML::Node name = node["config_name"], files = node["data_files"];
  config.name = name ? name.Scalar() : "default";
  const YAML::Node is_default = node["default"], folder = node["data_dir"];
  config.is_default = config.name == "default" || (is_default && is_default.as<bool>(false));
  if (folder) config.data_dir = folder.Scalar();
  if (files && !files.IsNull()) add_splits(files, config);
  return config;
}

}  // namespace

std::vector<CardConfig> card_configs(const path& folder) {
  std::vector<CardConfig> configs;
  const path card = folder / "README.md";
  if (!std::filesystem::is_regular_file(card)) return configs;
  const std::string text = front_matter(planner::read_whole_file(card));
  if (text.empty()) return configs;
  try {
    planner::read_yaml(text, card.string(), [&](const YAML::Node& document) {
      const YAML::Node listed = document["configs"];
      for (const auto& each : listed) configs.push_back(config_of(each));
    });
  } catch (const BadRequest&) {
    configs.clear();  // A page for people, whose form nobody checked.
  }
  return configs;
}

}  // namespace sluice::engine
