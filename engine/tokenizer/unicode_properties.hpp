// Unicode properties as the libraries behind tokenizers 0.23 know them: Oniguruma's classes
// (Unicode 16), the Rust standard library's and the older tables of its crates.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/tokenizer/code_point_set.hpp"

namespace sluice::engine {

/// The set that Oniguruma's \p{NAME} or [:NAME:] matches: a general category or group of such (Lu,
/// L, Letter), a script (Han), or one of alnum, alpha, any, ascii, assigned, blank, cntrl, digit,
/// graph, lower, print, punct, space, upper, word, xdigit. Letter case, spaces, - and _ do not
/// matter. None if the name is not known.
[[nodiscard]] std::optional<CodePointSet> property_set(std::string_view name);

/// General categories by their names of two letters, in the order in which `category_set` counts
/// them.
inline constexpr std::string_view kCategories[] = {
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"};

/// The general category kCategories[index] of Unicode 16.
[[nodiscard]] const CodePointSet& category_set(std::size_t index);

/// Code points whose category differs between Unicode 14, the oldest that PCRE2 10.42 and later
/// have, and Unicode 16.
[[nodiscard]] const CodePointSet& changed_categories();

/// Number of the script of `value` for the pre-tokenizer UnicodeScripts, whose table is Unicode
/// 9's: equal numbers mean equal scripts, 0 means none.
[[nodiscard]] int script_of(char32_t value);

/// White space: Unicode's White_Space, which Oniguruma's and Rust's \s match.
[[nodiscard]] const CodePointSet& white_space();
[[nodiscard]] bool is_white_space(char32_t value);
/// Whether Rust's regular expressions take `value` as a character of a word (\w).
[[nodiscard]] bool is_word(char32_t value);
/// Whether Rust's char::is_numeric holds: the categories Nd, Nl and No.
[[nodiscard]] bool is_numeric(char32_t value);
/// Whether `value` is punctuation for the pre-tokenizers Punctuation and BertPreTokenizer: one of
/// ASCII's symbols, or of the categories P of the Rust crate unicode_categories.
[[nodiscard]] bool is_punctuation(char32_t value);
/// Whether `value` is a mark, which the normalizer StripAccents leaves out.
[[nodiscard]] bool is_mark(char32_t value);
/// Whether `value` is a nonspacing mark that BertNormalizer leaves out.
[[nodiscard]] bool is_nonspacing_mark(char32_t value);
/// Whether `value` is of a category C (control, format, private use) and BertNormalizer leaves it
/// out.
[[nodiscard]] bool is_other(char32_t value);
/// Whether `value` is a mark that Unicode 9, whose tables the normalizers NFC, NFD, NFKC and NFKD
/// have, did not know; it is neither reordered nor composed.
[[nodiscard]] bool is_newer_mark(char32_t value);
/// Whether `value` has a decomposition now and had none in Unicode 9.
[[nodiscard]] bool is_newer_composite(char32_t value);

}  // namespace sluice::engine
