#include "sim/message_line.hpp"

#include "sim/utf8.hpp"

namespace sluice::sim {
namespace {

bool ends_or_steers(char32_t value) {
  return value < 0x20 || (value >= 0x7f && value < 0xa0) || value == 0x2028 || value == 0x2029;
}

}  // namespace

std::string message_line(std::string_view message) {
  const std::string whole = with_replacements(message);
  std::string line;
  for (std::size_t at = 0; at < whole.size();) {
    const auto point = code_point_at(whole, at);
    const std::size_t bytes = point ? point->bytes : 1;
    if (point && ends_or_steers(point->value)) {
      line += ' ';
    } else {
      line.append(whole, at, bytes);
    }
    at += bytes;
  }
  return line;
}

}  // namespace sluice::sim
