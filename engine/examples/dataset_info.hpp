// Data sets by name, as LLaMA-Factory's dataset_info.json registers them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/examples/example_format.hpp"
#include "engine/rows/data_files.hpp"

namespace sluice::engine {

/// The data set that a name in a run's `data` stands for: its files, and what is stated of them.
/// Without a format, the first example decides it.
struct Dataset {
  /// Path of a file, a folder or a glob, or the id of a data set in the Hugging Face hub's local
  /// cache.
  std::filesystem::path data;
  DataPart part = {};
  std::optional<ExampleFormat> format = {};
  /// Number of its rows that a pass over the data reads, repeated or thinned to that; none for all
  /// rows once.
  std::optional<std::int64_t> num_samples = {};
};

/// The data set that entry `name` of a dataset_info.json (`registry`) describes by file_name
/// (beside the registry) or hf_hub_url (in the local cache), formatting (alpaca, sharegpt, openai),
/// columns, tags, subset, split, folder and num_samples. Throws BadRequest `FILE: NAME: FIELD: ...`
/// for what is not trained or not downloaded (preference data, images, scripts, ...), and if there
/// is no such entry.
[[nodiscard]] Dataset registered_dataset(const std::filesystem::path& registry,
                                         const std::string& name);

/// The data set that a name of a run's `data` stands for: a file, folder or glob (with the format
/// that a dataset_info.json beside a file states); a name in the dataset_info.json of `folder`, by
/// default that of the working folder or its folder `data`; or a data set of the hub's local cache.
/// Throws BadRequest if it is none of these, with the nearest name in that dataset_info.json or the
/// command that fetches it.
[[nodiscard]] Dataset find_dataset(const std::filesystem::path& data,
                                   const std::optional<std::filesystem::path>& folder);

}  // namespace sluice::engine
