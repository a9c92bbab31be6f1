// Rows of parquet and Arrow files, read by pyarrow in a Python process.
#pragma once

#include <filesystem>
#include <string_view>

#include "engine/rows/file_form.hpp"
#include "engine/rows/row_visitor.hpp"

namespace sluice::engine {

/// Calls `visitor` with each row of a parquet or Arrow file (`form`); a row's place is "FILE:row
/// N", from 1. Dates and decimals become texts; columns that hold bytes are left out. Throws
/// BadRequest with pyarrow's reason if the file is damaged, EnvironmentError with the command that
/// installs pyarrow if no Python has it.
void read_table_rows(const std::filesystem::path& file, FileForm form, const RowVisitor& visitor);

/// Text of engine/rows/table_rows.py, the script that reads the tables in a Python process.
extern const std::string_view kTableRows;

}  // namespace sluice::engine
