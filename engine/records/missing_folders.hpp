// Which folders a path still lacks: those that whoever makes them may take away again.
#pragma once

#include <filesystem>
#include <vector>

namespace sluice::engine {

/// `path` and the folders above it that do not exist, the innermost first.
[[nodiscard]] std::vector<std::filesystem::path> missing_folders(const std::filesystem::path& path);

}  // namespace sluice::engine
