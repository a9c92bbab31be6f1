// UTF-8: encoding and decoding of code points, and detection of invalid bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::sim {

struct CodePoint {
  char32_t value;
  std::size_t bytes;  ///< Number of bytes of its encoding, 1 to 4.
};

/// The code point that begins at byte `at` of `text`; none if the bytes there are not UTF-8
/// (overlong forms and surrogates included).
[[nodiscard]] std::optional<CodePoint> code_point_at(std::string_view text, std::size_t at);

/// Offset of the first byte of `text` that is not UTF-8; none if all of it is.
[[nodiscard]] std::optional<std::size_t> first_not_utf8(std::string_view text);

void append_utf8(std::string& text, char32_t value);

/// `bytes` with invalid parts replaced: each longest part that begins a character and does not end
/// it, and each byte that can begin none, becomes U+FFFD, as Unicode recommends (chapter 3, "U+FFFD
/// Substitution of Maximal Subparts").
[[nodiscard]] std::string with_replacements(std::string_view bytes);

}  // namespace sluice::sim
