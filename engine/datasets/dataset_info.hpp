// Data sets by name: the dataset_info.json of LLaMA-Factory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/datasets/record_format.hpp"

namespace sluice::engine {

/// A data set's file and what its records mean; no format where the file is to say it.
struct Dataset {
  std::filesystem::path file;
  std::optional<RecordFormat> format;
};

/// The entry `name` of a registry: file_name (beside the registry), formatting (alpaca, sharegpt),
/// columns and tags. Throws BadRequest `FILE: NAME: FIELD: ...` for what is not supported
/// (downloads, preference data, images, tools, ...).
[[nodiscard]] Dataset registered_dataset(const std::filesystem::path& registry,
                                         const std::string& name);

/// What `data` stands for: a file (with the format that a dataset_info.json beside it states), or a
/// name in the registry of `folder`, else of the working folder or its folder data. Throws
/// BadRequest where it is neither, with the names that the registry has.
[[nodiscard]] Dataset find_dataset(const std::filesystem::path& data,
                                   const std::optional<std::filesystem::path>& folder);

}  // namespace sluice::engine
