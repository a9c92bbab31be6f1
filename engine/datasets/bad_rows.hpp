// Rows that are left out of a data set, counted by reason.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/datasets/data_summary.hpp"

namespace sluice::engine {

/// Counts the rows of a data set that cannot be read as examples, by reason, and decides at the end
/// of each file whether they are left out or the data are refused.
class BadRows {
 public:
  /// `strict`: whether a single bad row refuses the data.
  explicit BadRows(bool strict) : strict_(strict) {}

  /// Adds a row that is left out. `where` is its place, "FILE:LINE", `reason` its field and fault,
  /// "output: is empty".
  void add(const std::string& where, const std::string& reason);
  /// Adds a row that is left out because its own marks say that it is not learnt. Such rows are no
  /// fault of their file: end_file() does not judge them.
  void add_marked(const std::string& where, const std::string& reason);
  /// Adds a row that shows that its file is of a kind that is not trained, such as preference data;
  /// end_file() then refuses the file.
  void add_of_file(const std::string& where, const std::string& reason);
  /// Whether so many rows (kEnough) showed data of a kind that is not trained that the rest of the
  /// file need not be read.
  [[nodiscard]] bool enough() const { return of_file_ >= kEnough; }
  /// Ends a file of which `rows` rows were read. Throws BadRequest that names every kind of fault
  /// with its first places if a row showed a kind of data that is not trained, or if more than half
  /// of the rows are bad for one reason.
  void end_file(const std::string& file, std::int64_t rows);
  /// Ends the data. If the reading is strict, throws BadRequest that lists the bad rows (the first
  /// thousand).
  void end() const;

  /// Numbers of rows that are left out, by reason, in the order in which reasons were met.
  [[nodiscard]] const std::vector<LeftOutRows>& left_out() const { return left_out_; }

 private:
  static constexpr std::int64_t kEnough = 1000;
  struct Kind {
    /// Reason of such rows, without the numbers in it, so that alike faults are counted together.
    std::string reason;
    std::int64_t rows = 0;
    bool of_file = false;
    std::vector<std::string> first_places;
  };
  /// Counts a row of the file that is being read, whose fault is of `kind` (kind_of_reason).
  void count(const std::string& where, const std::string& kind, bool of_file);

  void leave_out(const std::string& where, const std::string& reason, const std::string& kind);

  bool strict_;
  std::int64_t of_file_ = 0;
  std::vector<Kind> of_this_file_;
  std::vector<LeftOutRows> left_out_;
  std::vector<std::string> listed_;  ///< "WHERE: REASON" of the first bad rows, for strict reading.
};

/// A reason without the numbers in it, by which alike faults are counted together:
/// "messages[3].content: is empty" becomes "messages[].content is empty".
[[nodiscard]] std::string kind_of_reason(const std::string& reason);

/// Text for people, "left out 28 rows (output is empty), first at FILE:210", with the reasons one
/// after another; empty if no row is left out.
[[nodiscard]] std::string left_out_line(const std::vector<LeftOutRows>& left_out);

}  // namespace sluice::engine
