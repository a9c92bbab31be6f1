// Appending to a file of lines without losing the lines that it holds.
#pragma once

#include <filesystem>
#include <string>

namespace sluice::planner {

/// Appends `lines` (each ended by a newline) to `file` and waits until the disk holds them. Creates
/// the file and its folder. A last line that a crash cut short is removed first. Throws
/// EnvironmentError, naming the file and the reason, where the disk refuses the new lines; the file
/// then holds what it held before.
void append_lines(const std::filesystem::path& file, const std::string& lines);

}  // namespace sluice::planner
