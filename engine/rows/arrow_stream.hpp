// The end of an Arrow IPC stream in a file.
#pragma once

#include <filesystem>
#include <span>

namespace sluice::engine {

/// Whether a file of Arrow's file or stream format ends as its writer ends it. A stream does by the
/// marker of its end (FFFFFFFF 00000000, before version 0.15 of Arrow 00000000); one that was cut
/// between two batches reads as a shorter one. A file that begins with ARROW1 has a footer, which
/// its reader checks.
[[nodiscard]] bool ends_as_arrow(const std::filesystem::path& file);

/// Warns of those of a data set's Arrow files that lack the marker of their end, by their names.
void warn_of_cut_streams(std::span<const std::filesystem::path> files);

}  // namespace sluice::engine
