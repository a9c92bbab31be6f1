// One data set of a run: its files, and what their rows mean.
#pragma once

#include <filesystem>
#include <optional>

#include "engine/datasets/document_maker.hpp"
#include "planner/runs/data_entry.hpp"

namespace sluice::engine {

/// Finds the files of the data set that a run's `entry` names and settles how its rows are read: as
/// the entry's format says, else that of a dataset_info.json (in `folder`, find_dataset()), else
/// the one that the entry's columns imply, else what the first row suggests; a text file without a
/// format is one text (DataFormat::text). Throws BadRequest for data that are not there, that are
/// of a kind that is not trained, or whose first row has no known fields (with the fields and how
/// to name them).
[[nodiscard]] DocumentRows find_data_set(const planner::DataEntry& entry,
                                         const std::optional<std::filesystem::path>& folder);

}  // namespace sluice::engine
