// Writing of JSON: numbers that read back to the same bits, and strings.
#pragma once

#include <string>
#include <string_view>

#include "sim/units.hpp"

namespace sluice::sim {

/// The shortest decimal text that reads back as `number`, which must be finite.
[[nodiscard]] std::string json_number(double number);
/// `duration` as a JSON number of seconds.
[[nodiscard]] std::string json_seconds(Duration duration);
/// `text` quoted and escaped as a JSON string.
[[nodiscard]] std::string json_string(std::string_view text);

/// Appends a finite number, seconds or a quoted string to `text`, the buffer of a whole file.
void append_json_number(std::string& text, double number);
void append_json_seconds(std::string& text, Duration duration);
void append_json_string(std::string& text, std::string_view value);

/// Separators between the members of an object or the items of a list.
class JsonSeparator {
 public:
  explicit JsonSeparator(std::string_view between = ", ") : between_(between) {}
  /// Returns an empty text at the first call, and the separator at every later one.
  std::string_view next() {
    const std::string_view separator = first_ ? std::string_view() : between_;
    first_ = false;
    return separator;
  }

 private:
  std::string_view between_;
  bool first_ = true;
};

}  // namespace sluice::sim
