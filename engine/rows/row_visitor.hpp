// The functions that are called with the rows of a data file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/rows/json_row.hpp"

namespace sluice::engine {

/// What a visitor answers to a row: whether it wants further rows.
enum class Reading { goes_on, stops };

/// One row of a file.
struct Row {
  std::unique_ptr<Json> object;  ///< Names and values, in the file's order; always an object.
  std::string where;             ///< "FILE:LINE", or "FILE:row N" in files without lines.
  /// Number of lone surrogates (halves of a UTF-16 pair) that were read as U+FFFD.
  std::int64_t replaced_surrogates = 0;
};

/// Functions that are called in order with each row, and with the place of each row that is bad.
struct RowVisitor {
  std::function<Reading(Row& row)> row;
  /// `reason` is one clause without the place: "is not JSON (at byte 12)".
  std::function<Reading(const std::string& where, const std::string& reason)> bad;
  /// Called now and then with the bytes of the file that were read; may be empty.
  std::function<void(std::int64_t bytes_read)> progress = nullptr;
  /// Whether fields that a row of parquet or Arrow lacks within a column are null, as they were
  /// before version 0.2.0, and not absent.
  bool keeps_nulls = false;
};

}  // namespace sluice::engine
