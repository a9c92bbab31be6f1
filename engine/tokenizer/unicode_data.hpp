// Tables of Unicode in compact text. A set lists its ranges as hexadecimal "GAP+MORE": the distance
// from the last member so far, and how many members follow the first one of the range.
#pragma once

namespace sluice::engine::unicode_data {

/// General categories (Unicode 16) of all code points from 0: a letter for the category, A for the
/// first of kCategories, a behind Z, then how many code points in a row have it, if more than one.
extern const char* const kCategoryRuns;

/// Alphabetic beyond the categories L and Nl.
extern const char* const kAlphabetic;
/// Oniguruma's \w beyond L, M, Nd, Nl and Pc.
extern const char* const kWordExtra;
/// [:lower:] beyond Ll.
extern const char* const kLowerExtra;
/// [:upper:] beyond Lu.
extern const char* const kUpperExtra;
/// Punctuation (P) that the crate unicode_categories does not know.
extern const char* const kNewerPunctuation;
/// Punctuation of that crate that is none in Unicode 16.
extern const char* const kOlderPunctuation;
/// Marks (M) that the same crate does not know.
extern const char* const kNewerMarks;
/// Marks of that crate that are none in Unicode 16.
extern const char* const kOlderMarks;
/// Cc, Cf and Co that BertNormalizer keeps, tabs and ends of lines among them.
extern const char* const kNewerOthers;
/// Code points whose category changed between Unicode 14 and 16.
extern const char* const kChanged;
/// Numbers of Unicode 17 that Rust knows.
extern const char* const kNewerNumbers;
/// Code points to which the pre-tokenizer UnicodeScripts, whose table is Unicode 9's, gives no
/// script.
extern const char* const kNewerScripts;
/// Nonspacing marks among the older ones that BertNormalizer keeps all the same.
extern const char* const kNewerNonspacing;

/// A script of Unicode 16 with its name in lower case and without underscores.
struct Script {
  const char* name;
  const char* members;
};
inline constexpr int kScriptCount = 170;
extern const Script kScripts[kScriptCount];

}  // namespace sluice::engine::unicode_data
