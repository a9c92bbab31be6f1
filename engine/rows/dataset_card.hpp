// What the README.md of a data set says of its subsets and splits.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::engine {

/// One subset of a data set, a "config" of the Hugging Face hub, as its README.md states it.
struct CardConfig {
  std::string name;
  bool is_default = false;  ///< Whether the subset is read where none is named.
  /// Patterns of the files of each split, relative to the data set's folder, in the card's order.
  std::vector<std::pair<std::string, std::vector<std::string>>> splits = {};
  std::optional<std::string> data_dir = {};  ///< Folder of its files, where no patterns are stated.
};

/// The subsets that the YAML at the beginning of `folder`/README.md states under `configs`; empty
/// where it states none or is no YAML.
[[nodiscard]] std::vector<CardConfig> card_configs(const std::filesystem::path& folder);

}  // namespace sluice::engine
