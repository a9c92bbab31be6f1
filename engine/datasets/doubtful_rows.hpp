// Rows that are learnt and may be meant otherwise, counted by what is said of them.
#pragma once

#include <string>
#include <vector>

#include "engine/datasets/data_summary.hpp"
#include "engine/examples/example_format.hpp"
#include "engine/rows/json_row.hpp"

namespace sluice::engine {

/// Counts rows by a doubt, with the place of the first.
class DoubtfulRows {
 public:
  void add(const std::string& where, const std::string& doubt);
  [[nodiscard]] const std::vector<LeftOutRows>& rows() const { return rows_; }

 private:
  std::vector<LeftOutRows> rows_;
};

/// One line that says why a row may not be what its writer meant: a field of a CSV file (`csv`)
/// holds the word by which pandas and its kin write an empty cell ("NaN"), or a text stands beside
/// a role, as a message of a conversation does. Empty for most rows.
[[nodiscard]] std::string doubt_of_row(const Json& row, const ExampleFormat& format, bool csv);

}  // namespace sluice::engine
