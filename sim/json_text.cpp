#include "sim/json_text.hpp"

#include <charconv>
#include <cmath>

#include "sim/error.hpp"

namespace sluice::sim {

void append_json_number(std::string& text, double number) {
  check(std::isfinite(number), "numbers written as JSON are finite");
  char digits[32];
  const auto written = std::to_chars(digits, digits + sizeof digits, number);
  text.append(digits, written.ptr);
}

void append_json_seconds(std::string& text, Duration duration) {
  append_json_number(text, to_seconds(duration).count());
}

void append_json_string(std::string& text, std::string_view value) {
  constexpr const char* kHex = "0123456789abcdef";
  text += '"';
  std::size_t written = 0;  // Letters of `value` before this one are in `text`.
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto code = static_cast<unsigned char>(value[i]);
    const bool quoted = code == '"' || code == '\\';
    if (code >= 0x20 && code != 0x7f && !quoted) continue;
    text.append(value, written, i - written);
    written = i + 1;
    text += '\\';
    if (quoted) {
      text += value[i];
    } else {
      text += "u00";
      text += kHex[code >> 4];
      text += kHex[code & 15];
    }
  }
  text.append(value, written);
  text += '"';
}

std::string json_number(double number) {
  std::string text;
  append_json_number(text, number);
  return text;
}

std::string json_seconds(Duration duration) { return json_number(to_seconds(duration).count()); }

std::string json_string(std::string_view text) {
  std::string quoted;
  append_json_string(quoted, text);
  return quoted;
}

}  // namespace sluice::sim
