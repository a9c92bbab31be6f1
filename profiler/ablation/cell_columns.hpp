// Columns of an experiment's table of cells.
#pragma once

#include <string>

#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

/// The header of cells.csv: "cell", a column for each factor, and what is known of a cell.
[[nodiscard]] std::string cell_header(const Experiment& experiment);

/// Of a factor: its name, or "factor.NAME" where another column of cells.csv, or of the frame that
/// the Python module makes, has that name.
[[nodiscard]] std::string column_of(const Factor& factor);

/// A field as RFC 4180 has it.
[[nodiscard]] std::string csv_field(const std::string& text);

}  // namespace sluice::profiler
