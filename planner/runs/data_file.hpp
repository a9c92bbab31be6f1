// Checks of a run's data file that need not read it.
#pragma once

#include <filesystem>

namespace sluice::planner {

/// Throws BadRequest where `data` exists and is not a file, such as a folder.
void require_data_file(const std::filesystem::path& data);

}  // namespace sluice::planner
