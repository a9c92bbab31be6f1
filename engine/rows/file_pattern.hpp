// Files whose paths match a pattern.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::engine {

/// Whether a path is a pattern: it has a `*`, `?` or `[`.
[[nodiscard]] bool is_pattern(const std::filesystem::path& name);

/// Regular files that match `pattern`, each once, in no order. In a folder's or file's name `*`,
/// `?` and `[...]` stand for letters; a name that is `**` stands for any number of folders, none
/// included, or at the end for every file below. Names that begin with a dot match no wildcard, and
/// `**` enters no linked folders.
[[nodiscard]] std::vector<std::filesystem::path> matching_files(
    const std::filesystem::path& pattern);

}  // namespace sluice::engine
