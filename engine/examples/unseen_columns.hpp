// Columns that a run names and no row has.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/examples/example_format.hpp"

namespace sluice::engine {

/// Looks in the rows of a data set for the optional columns that its run names: the second field of
/// the question (query), system, history, tools, and learnt, which turns may have instead.
class UnseenColumns {
 public:
  explicit UnseenColumns(const ExampleFormat& format);

  /// Looks for the columns in one row.
  void look(const Json& row);
  /// Whether every column was seen.
  [[nodiscard]] bool none() const { return unseen_.empty(); }
  /// The columns that no row had so far, by what they hold ("learnt").
  [[nodiscard]] std::vector<std::string> held() const;

 private:
  [[nodiscard]] bool turns_have(const Json& row, const std::string& field) const;

  std::vector<std::string> lists_;  ///< Fields of a row that may be lists of turns.
  std::map<std::string, std::string> unseen_;
};

}  // namespace sluice::engine
