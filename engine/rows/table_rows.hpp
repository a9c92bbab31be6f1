// Rows of parquet and Arrow files, read by pyarrow in a Python process.
#pragma once

#include <filesystem>
#include <string_view>

#include "engine/rows/file_form.hpp"
#include "engine/rows/row_visitor.hpp"

namespace sluice::engine {

/// Visits the rows of a parquet or Arrow file (`form`), "FILE:row N" from 1. Dates and decimals are
/// texts; columns of bytes have no rows' values. Throws BadRequest with pyarrow's reason if the
/// file is damaged, EnvironmentError with the command that installs pyarrow if no Python has it.
void read_table_rows(const std::filesystem::path& file, FileForm form, const RowVisitor& visitor);

/// The script that runs there, engine/rows/table_rows.py.
extern const std::string_view kTableRows;

}  // namespace sluice::engine
