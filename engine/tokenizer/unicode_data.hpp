// Tables of Unicode in compact text. A set lists its ranges as hexadecimal "GAP+MORE": the distance
// from the last member so far, and how many members follow the first one of the range.
#pragma once

namespace sluice::engine::unicode_data {

/// General categories (Unicode 16) of all code points from 0: a letter for the category, A for the
/// first of kCategories, a behind Z, then how many code points in a row have it, if more than one.
extern const char* const kCategoryRuns;

/// Code points of Oniguruma's class alpha outside the general categories L and Nl.
extern const char* const kAlphabetic;
/// Code points of Oniguruma's \w outside the general categories L, M, Nd, Nl and Pc.
extern const char* const kWordExtra;
/// Code points of Oniguruma's [:lower:] outside the general category Ll.
extern const char* const kLowerExtra;
/// Code points of Oniguruma's [:upper:] outside the general category Lu.
extern const char* const kUpperExtra;
/// Punctuation (category P of Unicode 16) that the older Rust crate unicode_categories does not
/// know.
extern const char* const kNewerPunctuation;
/// Punctuation of the Rust crate unicode_categories that is none in Unicode 16.
extern const char* const kOlderPunctuation;
/// Marks (category M of Unicode 16) that the older Rust crate unicode_categories does not know.
extern const char* const kNewerMarks;
/// Marks of the Rust crate unicode_categories that are none in Unicode 16.
extern const char* const kOlderMarks;
/// Code points of the categories Cc, Cf and Co that the normalizer BertNormalizer keeps, tabs and
/// ends of lines among them.
extern const char* const kNewerOthers;
/// Code points whose category changed between Unicode 14 and 16.
extern const char* const kChanged;
/// Numbers (category N) of Unicode 17, which the Rust standard library knows and Unicode 16 does
/// not.
extern const char* const kNewerNumbers;
/// Code points to which the pre-tokenizer UnicodeScripts, whose table is Unicode 9's, gives no
/// script.
extern const char* const kNewerScripts;
/// Nonspacing marks that the Rust crate unicode_categories knows and BertNormalizer keeps all the
/// same.
extern const char* const kNewerNonspacing;

/// A script of Unicode 16 with its name in lower case and without underscores.
struct Script {
  const char* name;
  const char* members;
};
inline constexpr int kScriptCount = 170;
extern const Script kScripts[kScriptCount];

}  // namespace sluice::engine::unicode_data
