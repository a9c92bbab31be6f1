// One data file as rows.
#pragma once

#include <filesystem>

#include "engine/rows/file_form.hpp"
#include "engine/rows/row_visitor.hpp"

namespace sluice::engine {

/// Calls `visitor` with each row of `file`, whose form file_form() gave. A line of a text file is a
/// row {"text": LINE}; lines of white space are no rows. Throws BadRequest naming the file, and the
/// line where there is one, if the file as a whole is not of its form; EnvironmentError if it
/// cannot be read, or if parquet or Arrow is to be read and no Python here has pyarrow.
void read_rows(const std::filesystem::path& file, FileForm form, const RowVisitor& visitor);

}  // namespace sluice::engine
