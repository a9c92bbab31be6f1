// UTF-8: code points in and out, and which bytes are none.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::sim {

struct CodePoint {
  char32_t value;
  std::size_t bytes;  ///< 1 to 4.
};

/// The code point at `at`, or none where the bytes there are not UTF-8 (overlong forms and
/// surrogates included).
[[nodiscard]] std::optional<CodePoint> code_point_at(std::string_view text, std::size_t at);

/// Offset of the first byte that is not UTF-8.
[[nodiscard]] std::optional<std::size_t> first_not_utf8(std::string_view text);

void append_utf8(std::string& text, char32_t value);

/// `bytes` with U+FFFD for each longest part that begins a character and does not end it, or can
/// begin none: as Unicode (chapter 3, "U+FFFD Substitution of Maximal Subparts") recommends.
[[nodiscard]] std::string with_replacements(std::string_view bytes);

}  // namespace sluice::sim
