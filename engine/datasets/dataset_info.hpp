// Data sets by name, as LLaMA-Factory's dataset_info.json registers them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/datasets/example_format.hpp"

namespace sluice::engine {

/// A data set's file and the meaning of its examples' fields; without a format, the file's name and
/// first example decide.
struct Dataset {
  std::filesystem::path file;
  std::optional<ExampleFormat> format;
};

/// The entry `name` of a registry: file_name (beside the registry), formatting (alpaca, sharegpt),
/// columns and tags. Throws BadRequest `FILE: NAME: FIELD: ...` for what is not supported
/// (downloads, preference data, images, tools, ...).
[[nodiscard]] Dataset registered_dataset(const std::filesystem::path& registry,
                                         const std::string& name);

/// The data set that a run's `data` names: a file (with the format that a dataset_info.json beside
/// it states), or a name in the registry of `folder`, by default that of the working folder or its
/// folder `data`. Throws BadRequest listing the registry's names if it is neither.
[[nodiscard]] Dataset find_dataset(const std::filesystem::path& data,
                                   const std::optional<std::filesystem::path>& folder);

}  // namespace sluice::engine
