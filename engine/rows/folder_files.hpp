// The files that a folder of data stands for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/rows/data_files.hpp"

namespace sluice::engine {

/// The files of `part` in `folder`, as find_data_files() describes them, in no order. Warns of
/// files that are left out and might be meant. Throws BadRequest where none is found, or where
/// several subsets or splits could be meant.
[[nodiscard]] std::vector<std::filesystem::path> files_in_folder(
    const std::filesystem::path& folder, const DataPart& part, DataNames names);

/// Removes packed files (.gz, .zst) that stand beside a file of their name unpacked, and warns of
/// them.
void leave_out_packed_twins(std::vector<std::filesystem::path>& files, const std::string& data);

}  // namespace sluice::engine
