// Where the Unicode tables of the Hugging Face tokenizers library differ from those of PCRE2 and
// utf8proc.
//
// tokenizers 0.23 matches patterns with Oniguruma, whose tables are Unicode 16's, and normalises
// with tables of Unicode 9; Debian's PCRE2 10.42 has Unicode 14, its utf8proc 2.8 Unicode 15.
// Found by asking each library about every code point; tests/cli/test_tokenizer.py asks again.
#pragma once

#include <span>

namespace sluice::engine {

struct CodePointRange {
  char32_t first, last;
};

/// Letters (general category L) and numbers (N) that came after Unicode 14.
[[nodiscard]] std::span<const CodePointRange> newer_letters();
[[nodiscard]] std::span<const CodePointRange> newer_numbers();
/// Marks that Unicode 9 did not know: to tokenizers they neither move nor compose.
[[nodiscard]] bool is_newer_mark(char32_t value);
/// Unicode's White_Space, which is what Oniguruma's \s is; PCRE2 adds U+180E.
[[nodiscard]] std::span<const CodePointRange> white_space();
[[nodiscard]] bool is_white_space(char32_t value);

}  // namespace sluice::engine
