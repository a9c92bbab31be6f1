// Files written whole or not at all, and read whole.
#pragma once

#include <filesystem>
#include <string>

namespace sluice::planner {

/// Where write_whole_file() writes before `path` has its name.
[[nodiscard]] std::filesystem::path part_file_of(std::filesystem::path path);
/// Writes `text` to `path` whole or not at all, making its folder. Throws EnvironmentError naming
/// the path and what the system said.
void write_whole_file(const std::filesystem::path& path, const std::string& text);
/// Throws EnvironmentError where write_whole_file() would have no place: said before long work.
void require_writable(const std::filesystem::path& path);
/// Throws BadRequest when there is no such file.
[[nodiscard]] std::string read_whole_file(const std::filesystem::path& path);

}  // namespace sluice::planner
