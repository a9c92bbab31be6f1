// Files that are written whole or not at all, and read whole.
#pragma once

#include <filesystem>
#include <string>

namespace sluice::planner {

/// Path of the temporary file that write_whole_file(path) writes before it renames it to `path`.
[[nodiscard]] std::filesystem::path part_file_of(std::filesystem::path path);
/// Writes `text` to `path` whole or not at all, creating its folder. Throws EnvironmentError naming
/// the path and what the system said.
void write_whole_file(const std::filesystem::path& path, const std::string& text);
/// Throws EnvironmentError where write_whole_file() could not write `path`. Call it before long
/// work whose result goes there.
void require_writable(const std::filesystem::path& path);
/// The contents of `path`. Throws BadRequest where there is no such file, or it is a Git LFS
/// pointer.
[[nodiscard]] std::string read_whole_file(const std::filesystem::path& path);

}  // namespace sluice::planner
