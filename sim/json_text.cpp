#include "sim/json_text.hpp"

#include <charconv>
#include <cmath>

#include "sim/error.hpp"

namespace sluice::sim {

std::string json_number(double number) {
  check(std::isfinite(number), "numbers written as JSON are finite");
  char text[32];
  const auto written = std::to_chars(text, text + sizeof text, number);
  return {text, written.ptr};
}

std::string json_seconds(Duration duration) { return json_number(to_seconds(duration).count()); }

std::string json_string(std::string_view text) {
  constexpr const char* kHex = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      quoted += '\\';
      quoted += letter;
    } else if (code < 0x20 || code == 0x7f) {
      quoted += "\\u00";
      quoted += kHex[code >> 4];
      quoted += kHex[code & 15];
    } else {
      quoted += letter;
    }
  }
  return quoted + '"';
}

}  // namespace sluice::sim
