// Comma-separated text, plain or gzip; internal to planner/kernels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::planner {

struct CsvLine {
  std::size_t number = 0;  ///< Number of the line in the file, from 1.
  std::vector<std::string> cells;
};

/// Reads the lines of the CSV file `path` that are not blank; cells come without surrounding spaces
/// and quotes. Throws BadRequest where there is no such file, or its gzip data is damaged.
[[nodiscard]] std::vector<CsvLine> read_csv(const std::string& path);

/// Place in a file for error messages, such as "FILE: line 7"; lines count from 1.
[[nodiscard]] std::string at_line(const std::string& path, std::size_t line);

}  // namespace sluice::planner
