// Rows that are left out of a data set, counted by reason.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/datasets/data_summary.hpp"

namespace sluice::engine {

/// The rows of a data set that are no examples: told one by one, and judged at the end of each
/// file.
class BadRows {
 public:
  /// `strict`: whether any bad row refuses the data.
  explicit BadRows(bool strict) : strict_(strict) {}

  /// A row that is left out. `reason` is its field and fault, "output: is empty".
  void add(const std::string& where, const std::string& reason);
  /// A row that shows that the file is of a kind that is not trained.
  void add_of_file(const std::string& where, const std::string& reason);
  /// Whether enough is known to refuse the file without reading the rest of it.
  [[nodiscard]] bool enough() const { return of_file_ >= kEnough; }
  /// Ends a file of which `rows` rows were read. Throws BadRequest that names every kind of fault
  /// with its first places if one row showed another kind of data, or if more than half of the rows
  /// are bad for one reason.
  void end_file(const std::string& file, std::int64_t rows);
  /// Ends the data. Throws BadRequest that lists every bad row if the reading is strict.
  void end() const;

  /// Rows that are left out, by reason, in the order in which reasons were met.
  [[nodiscard]] const std::vector<LeftOutRows>& left_out() const { return left_out_; }

 private:
  static constexpr std::int64_t kEnough = 1000;
  struct Kind {
    std::string reason;  ///< Without numbers, so that alike faults are counted together.
    std::int64_t rows = 0;
    bool of_file = false;
    std::vector<std::string> first_places;
  };
  /// Counts a row of the present file whose fault is of `kind`.
  void count(const std::string& where, const std::string& kind, bool of_file);

  bool strict_;
  std::int64_t of_file_ = 0;
  std::vector<Kind> of_this_file_;
  std::vector<LeftOutRows> left_out_;
  std::vector<std::string> listed_;  ///< "WHERE: REASON" of each bad row, for strict reading.
};

/// The kind of a reason: "messages[3].content: is empty" is "messages[].content is empty".
[[nodiscard]] std::string kind_of_reason(const std::string& reason);

/// "left out 28 rows (output is empty), first at FILE:210", with the kinds one after another; empty
/// for none.
[[nodiscard]] std::string left_out_line(const std::vector<LeftOutRows>& left_out);

}  // namespace sluice::engine
