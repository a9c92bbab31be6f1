// One JSON value of a row, read as Python's json module reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sluice::engine {

/// A row's value, whose objects keep the file's order.
using Json = nlohmann::ordered_json;

/// Result of reading a text as JSON: a value, or why the text is none.
struct JsonRow {
  std::unique_ptr<Json> value;  ///< Null where there is a fault.
  std::string fault;            ///< Empty for a value; else one clause: "is not JSON (at byte 12)".
  /// Number of lone surrogates (halves of a UTF-16 pair) that were read as U+FFFD.
  std::int64_t replaced_surrogates = 0;
};

/// Reads `text`. Where a key is given twice the last value holds. NaN, Infinity and numbers beyond
/// double are numbers that are not finite; whole numbers beyond 64 bits are kept as their digits
/// (is_big_number). A lone surrogate becomes U+FFFD. Control characters within a text, bytes that
/// are not UTF-8 and more than 128 levels are faults.
[[nodiscard]] JsonRow read_json_row(std::string_view text);

/// Whether `value` is a whole number beyond 64 bits, kept as its digits.
[[nodiscard]] bool is_big_number(const Json& value);

/// The value as JSON text with the digits of every whole number. Only for values in which all
/// numbers are finite.
[[nodiscard]] std::string json_text(const Json& value);

/// Whether every number in `value` is finite.
[[nodiscard]] bool all_finite(const Json& value);

}  // namespace sluice::engine
