// Paths that a run's file states, where the file is read in another folder than it was written for.
#pragma once

#include <filesystem>

#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Makes relative paths of a run absolute where they lead to something within `folder`; names that
/// are no paths (of the catalogue, of shipped templates and policies, of a dataset_info.json) and
/// `out` stay as they are.
void lead_paths_to(RunConfig& config, const std::filesystem::path& folder);

/// Leads the paths of a run's file to the folder in which the run was started, if that is another
/// than the working folder.
void lead_to_working_folder(RunConfig& config);

}  // namespace sluice::planner
