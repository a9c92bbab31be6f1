// GPT-2's alphabet, which represents each of the 256 bytes by a visible letter (openai/gpt-2,
// encoder.py, bytes_to_unicode).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "engine/tokenizer/aligned_text.hpp"

namespace sluice::engine {

/// The letter of each byte, in UTF-8. Bytes 33-126, 161-172 and 174-255 are the code points of the
/// same number, the others are 256, 257, ... in order.
[[nodiscard]] const std::array<std::string, 256>& byte_letters();
/// The letter of `byte`.
[[nodiscard]] char32_t letter_of(unsigned char byte);

/// Replaces each byte of `text` by its letter.
void write_byte_letters(AlignedText& text);

/// The bytes that a token's letters stand for; none if one of them is not in the alphabet.
[[nodiscard]] std::optional<std::string> bytes_of_letters(std::string_view token);

}  // namespace sluice::engine
