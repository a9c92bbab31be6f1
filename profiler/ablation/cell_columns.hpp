// Columns of an experiment's table of cells (cells.csv).
#pragma once

#include <string>

#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

/// The header line of cells.csv: "cell", a column for each factor, and the columns of a cell's
/// results.
[[nodiscard]] std::string cell_header(const Experiment& experiment);

/// Name of a factor's column in cells.csv: the factor's name, or "factor.NAME" where another column
/// has that name.
[[nodiscard]] std::string column_of(const Factor& factor);

/// `text` as a field of a CSV file by RFC 4180: quoted where needed.
[[nodiscard]] std::string csv_field(const std::string& text);

}  // namespace sluice::profiler
