// Differences between the Unicode tables of the Hugging Face tokenizers library and those of PCRE2
// and utf8proc.
//
// tokenizers 0.23 matches patterns with Oniguruma, whose tables are Unicode 16's, and normalises
// with tables of Unicode 9; Debian's PCRE2 10.42 has Unicode 14, its utf8proc 2.8 Unicode 15. The
// differences were found by asking each library about every code point; tests/cli/test_tokenizer.py
// repeats that.
#pragma once

#include <span>

namespace sluice::engine {

struct CodePointRange {
  char32_t first, last;
};

/// Letters (general category L) that were added after Unicode 14. `newer_numbers` has the numbers
/// (N).
[[nodiscard]] std::span<const CodePointRange> newer_letters();
[[nodiscard]] std::span<const CodePointRange> newer_numbers();
/// Whether a code point is a mark that Unicode 9 did not know; tokenizers neither reorder nor
/// compose such marks.
[[nodiscard]] bool is_newer_mark(char32_t value);
/// Code points with Unicode's property White_Space, which Oniguruma's \s matches; PCRE2 adds
/// U+180E.
[[nodiscard]] std::span<const CodePointRange> white_space();
[[nodiscard]] bool is_white_space(char32_t value);

}  // namespace sluice::engine
