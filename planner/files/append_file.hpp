// Appending to a file of lines without losing what it holds.
#pragma once

#include <filesystem>
#include <string>

namespace sluice::planner {

/// Appends `lines` (each ended by a newline) and waits until the system holds them on disk. Makes
/// the folder. A last line that a crash cut short is removed first; if the disk refuses the new
/// lines, the file is cut back to what it held and EnvironmentError names it and the reason.
void append_lines(const std::filesystem::path& file, const std::string& lines);

}  // namespace sluice::planner
