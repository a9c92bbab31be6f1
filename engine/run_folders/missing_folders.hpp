// Finds which folders of a path do not exist yet, so that whoever creates them can remove them
// again.
#pragma once

#include <filesystem>
#include <vector>

namespace sluice::engine {

/// `path` and the folders above it that do not exist, the innermost first.
[[nodiscard]] std::vector<std::filesystem::path> missing_folders(const std::filesystem::path& path);

}  // namespace sluice::engine
