// Checks of a run's data file that need not read it.
#pragma once

#include <filesystem>

namespace sluice::planner {

struct RunConfig;

/// Throws BadRequest where `data` exists and is not a file, such as a folder.
void require_data_file(const std::filesystem::path& data);

/// The file of the run's one data set. Throws BadRequest where the run states none, several, or
/// settings such as max_samples for it.
[[nodiscard]] const std::filesystem::path& only_data(const RunConfig& config);

}  // namespace sluice::planner
