// Plain text in one file, whatever files it lies in.
#pragma once

#include <filesystem>

#include "engine/rows/data_files.hpp"

namespace sluice::engine {

/// The file that holds the text of all `files`, one after another: the only one itself where it is
/// plain, else a file in `cache` that is made once, with packed (compressed) files unpacked. A line
/// feed goes between files where the first does not end with one. Throws BadRequest if a packed
/// file is damaged, EnvironmentError if the cache cannot be written.
[[nodiscard]] std::filesystem::path plain_text_file(const DataFiles& files,
                                                    const std::filesystem::path& cache);

}  // namespace sluice::engine
