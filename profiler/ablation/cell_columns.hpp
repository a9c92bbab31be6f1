// Columns of an experiment's table of cells.
#pragma once

#include <string>

#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

/// The header of cells.csv: "cell", a column for each factor, and the columns of a cell's results.
[[nodiscard]] std::string cell_header(const Experiment& experiment);

/// Column name of a factor: its own name, or "factor.NAME" where another column of cells.csv, or of
/// the frame that the Python module makes, has that name.
[[nodiscard]] std::string column_of(const Factor& factor);

/// `text` as a CSV field by RFC 4180, quoted where needed.
[[nodiscard]] std::string csv_field(const std::string& text);

}  // namespace sluice::profiler
