// One data set of a run: its files, and what their rows mean.
#pragma once

#include <filesystem>
#include <optional>

#include "engine/datasets/document_maker.hpp"
#include "planner/runs/data_entry.hpp"

namespace sluice::engine {

/// Finds the files of a data set and settles the format of its rows: the entry's, else that of its
/// columns, else the registry's, else what the first row suggests; a text file without a format is
/// one text (DataFormat::text). Throws BadRequest for data that are not there, that are of a kind
/// that is not trained, or whose first row has no known fields (with the fields and how to name
/// them).
[[nodiscard]] DocumentRows find_data_set(const planner::DataEntry& entry,
                                         const std::optional<std::filesystem::path>& folder);

}  // namespace sluice::engine
