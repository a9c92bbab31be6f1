// Data sets by name, as LLaMA-Factory's dataset_info.json registers them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/examples/example_format.hpp"
#include "engine/rows/data_files.hpp"

namespace sluice::engine {

/// A data set that a name stands for. Without a format, the first example decides it.
struct Dataset {
  /// A file, a folder, a glob, or the id of a data set in the hub's local cache.
  std::filesystem::path data;
  DataPart part = {};
  std::optional<ExampleFormat> format = {};
  /// Number of rows that a pass reads of it, repeated or thinned.
  std::optional<std::int64_t> num_samples = {};
};

/// The entry `name` of a registry: file_name (beside the registry) or hf_hub_url (in the local
/// cache), formatting (alpaca, sharegpt, openai), columns, tags, subset, split, folder and
/// num_samples. Throws BadRequest `FILE: NAME: FIELD: ...` for what is not trained or not
/// downloaded (preference data, images, scripts, ...).
[[nodiscard]] Dataset registered_dataset(const std::filesystem::path& registry,
                                         const std::string& name);

/// The data set that a name of a run's `data` stands for: a file, folder or glob (with the format
/// that a dataset_info.json beside a file states); a name in the registry of `folder`, by default
/// that of the working folder or its folder `data`; or a data set of the hub's local cache. Throws
/// BadRequest if it is none of these, with the registry's nearest name or the command that fetches
/// it.
[[nodiscard]] Dataset find_dataset(const std::filesystem::path& data,
                                   const std::optional<std::filesystem::path>& folder);

}  // namespace sluice::engine
