#include "engine/tokenizer/unicode_properties.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/tokenizer/unicode_data.hpp"

namespace sluice::engine {
namespace {

/// Decodes a set of unicode_data.hpp.
CodePointSet decoded(std::string_view text) {
  std::vector<CodePointRange> ranges;
  char32_t last = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&] {
    unsigned value = 0;
    at = std::from_chars(at, end, value, 16).ptr;
    return value;
  };
  while (at < end) {
    const char32_t first = last + number();
    last = first;
    if (at < end && *at == '+') {
      ++at;
      last += number();
    }
    ranges.push_back({first, last});
    if (at < end) ++at;
  }
  return CodePointSet(ranges);
}

using Categories = std::array<CodePointSet, std::size(kCategories)>;

Categories decoded_categories() {
  std::array<std::vector<CodePointRange>, std::size(kCategories)> ranges;
  const std::string_view text = unicode_data::kCategoryRuns;
  char32_t next = 0;
  for (const char* at = text.data(); at < text.data() + text.size();) {
    const char letter = *at++;
    const int index = letter >= 'a' ? letter - 'a' + 26 : letter - 'A';
    unsigned count = 1;
    at = std::from_chars(at, text.data() + text.size(), count).ptr;
    ranges[static_cast<std::size_t>(index)].push_back({next, next + count - 1});
    next += count;
  }
  Categories categories;
  for (std::size_t i = 0; i < categories.size(); ++i) categories[i] = CodePointSet(ranges[i]);
  return categories;
}

/// The categories whose names begin with one of `names`.
CodePointSet categories(std::initializer_list<std::string_view> names) {
  CodePointSet all;
  for (std::size_t i = 0; i < std::size(kCategories); ++i) {
    for (const std::string_view name : names) {
      if (kCategories[i].starts_with(name)) all.unite(category_set(i));
    }
  }
  return all;
}

CodePointSet ranges(std::initializer_list<CodePointRange> given) {
  return CodePointSet(std::span(given.begin(), given.size()));
}

CodePointSet with(CodePointSet set, const char* more) {
  set.unite(decoded(more));
  return set;
}

struct LongName {
  std::string_view name, category;
};
constexpr LongName kLongNames[] = {{"letter", "L"},
                                   {"uppercaseletter", "Lu"},
                                   {"lowercaseletter", "Ll"},
                                   {"titlecaseletter", "Lt"},
                                   {"modifierletter", "Lm"},
                                   {"otherletter", "Lo"},
                                   {"mark", "M"},
                                   {"nonspacingmark", "Mn"},
                                   {"spacingmark", "Mc"},
                                   {"enclosingmark", "Me"},
                                   {"number", "N"},
                                   {"decimalnumber", "Nd"},
                                   {"letternumber", "Nl"},
                                   {"othernumber", "No"},
                                   {"punctuation", "P"},
                                   {"connectorpunctuation", "Pc"},
                                   {"dashpunctuation", "Pd"},
                                   {"openpunctuation", "Ps"},
                                   {"closepunctuation", "Pe"},
                                   {"initialpunctuation", "Pi"},
                                   {"finalpunctuation", "Pf"},
                                   {"otherpunctuation", "Po"},
                                   {"symbol", "S"},
                                   {"mathsymbol", "Sm"},
                                   {"currencysymbol", "Sc"},
                                   {"modifiersymbol", "Sk"},
                                   {"othersymbol", "So"},
                                   {"separator", "Z"},
                                   {"spaceseparator", "Zs"},
                                   {"lineseparator", "Zl"},
                                   {"paragraphseparator", "Zp"},
                                   {"other", "C"},
                                   {"control", "Cc"},
                                   {"format", "Cf"},
                                   {"surrogate", "Cs"},
                                   {"privateuse", "Co"},
                                   {"unassigned", "Cn"}};

std::optional<CodePointSet> category_named(const std::string& name) {
  std::string_view wanted = name;
  if (const auto* known = std::ranges::find(kLongNames, wanted, &LongName::name);
      known != std::end(kLongNames)) {
    return categories({known->category});
  }
  if (name.size() > 2) return std::nullopt;
  std::string cased = name;
  cased.front() = static_cast<char>(cased.front() - 'a' + 'A');
  CodePointSet found = categories({cased});
  if (found.empty()) return std::nullopt;
  return found;
}

/// The classes of POSIX as Oniguruma has them for Unicode.
std::optional<CodePointSet> posix_class(const std::string& name) {
  const auto alphabetic = [] { return with(categories({"L", "Nl"}), unicode_data::kAlphabetic); };
  if (name == "any") return ranges({{0, kLastCodePoint}});
  if (name == "ascii") return ranges({{0, 0x7f}});
  if (name == "assigned") return categories({"Cn"}).complement();
  if (name == "space" || name == "whitespace") return white_space();
  if (name == "word") {
    return with(categories({"L", "M", "Nd", "Nl", "Pc"}), unicode_data::kWordExtra);
  }
  if (name == "digit") return categories({"Nd"});
  if (name == "xdigit") return ranges({{'0', '9'}, {'A', 'F'}, {'a', 'f'}});
  if (name == "alpha" || name == "alphabetic") return alphabetic();
  if (name == "alnum") {
    CodePointSet set = alphabetic();
    set.unite(categories({"Nd"}));
    return set;
  }
  if (name == "lower" || name == "lowercase") {
    return with(categories({"Ll"}), unicode_data::kLowerExtra);
  }
  if (name == "upper" || name == "uppercase") {
    return with(categories({"Lu"}), unicode_data::kUpperExtra);
  }
  if (name == "punct") return categories({"P", "S"});
  if (name == "blank") return with(categories({"Zs"}), "9");
  if (name == "cntrl") return categories({"Cc"});
  if (name == "graph") {
    return white_space().complement().without(categories({"Cc", "Cn", "Cs"}));
  }
  if (name == "print") {
    CodePointSet set = posix_class("graph").value();
    set.unite(categories({"Zs"}));
    return set;
  }
  return std::nullopt;
}

}  // namespace

const CodePointSet& category_set(std::size_t index) {
  static const Categories all = decoded_categories();
  return all.at(index);
}

const CodePointSet& changed_categories() {
  static const CodePointSet set = decoded(unicode_data::kChanged);
  return set;
}

std::optional<CodePointSet> property_set(std::string_view name) {
  std::string plain;
  for (const char letter : name) {
    if (letter == ' ' || letter == '_' || letter == '-') continue;
    plain += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  if (plain.empty()) return std::nullopt;
  if (auto set = posix_class(plain)) return set;
  if (auto set = category_named(plain)) return set;
  for (const unicode_data::Script& script : unicode_data::kScripts) {
    if (plain == script.name) return decoded(script.members);
  }
  return std::nullopt;
}

int script_of(char32_t value) {
  static const std::vector<std::uint8_t> scripts = [] {
    std::vector<std::uint8_t> made(kLastCodePoint + 1);
    std::uint8_t number = 0;
    for (const unicode_data::Script& script : unicode_data::kScripts) {
      ++number;
      const CodePointSet members = decoded(script.members);
      for (const CodePointRange& range : members.ranges()) {
        std::fill(made.begin() + range.first, made.begin() + range.last + 1, number);
      }
    }
    return made;
  }();
  return value <= kLastCodePoint ? scripts[value] : 0;
}

const CodePointSet& white_space() {
  static const CodePointSet set =
      ranges({{0x9, 0xd}, {0x20, 0x20}, {0x85, 0x85}, {0xa0, 0xa0}, {0x1680, 0x1680},
              {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f},
              {0x3000, 0x3000}});
  return set;
}

bool is_white_space(char32_t value) {
  if (value < 0x85) return value == ' ' || (value >= 0x9 && value <= 0xd);
  return value <= 0x3000 && white_space().contains(value);
}

bool is_word(char32_t value) {
  static const CodePointTable table([] {
    // Rust adds the joiners and leaves out the superscript digits and fractions.
    CodePointSet set = property_set("word").value();
    set.unite(ranges({{0x200c, 0x200d}}));
    return set.without(ranges({{0xb2, 0xb3}, {0xb9, 0xb9}, {0xbc, 0xbe}}));
  }());
  return table.contains(value);
}

bool is_numeric(char32_t value) {
  static const CodePointTable table(with(categories({"N"}), unicode_data::kNewerNumbers));
  return table.contains(value);
}

bool is_punctuation(char32_t value) {
  static const CodePointTable table([] {
    CodePointSet set = categories({"P"});
    set.unite(ranges({{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}));
    return with(set.without(decoded(unicode_data::kNewerPunctuation)),
                unicode_data::kOlderPunctuation);
  }());
  return table.contains(value);
}

bool is_mark(char32_t value) {
  static const CodePointTable table(
      with(categories({"M"}).without(decoded(unicode_data::kNewerMarks)),
           unicode_data::kOlderMarks));
  return table.contains(value);
}

bool is_other(char32_t value) {
  static const CodePointTable table(
      categories({"Cc", "Cf", "Co"}).without(decoded(unicode_data::kNewerOthers)));
  return table.contains(value);
}

bool is_newer_mark(char32_t value) {
  static const CodePointTable table(
      ranges({{0x7fd, 0x7fd},     {0x898, 0x89f},     {0x8ca, 0x8d3},     {0x9fe, 0x9fe},
              {0xc3c, 0xc3c},     {0xd3b, 0xd3c},     {0xeba, 0xeba},     {0x1715, 0x1715},
              {0x1abf, 0x1ace},   {0x1df6, 0x1dfa},   {0xa82c, 0xa82c},   {0x10d24, 0x10d27},
              {0x10eab, 0x10eac}, {0x10efd, 0x10eff}, {0x10f46, 0x10f50}, {0x10f82, 0x10f85},
              {0x11070, 0x11070}, {0x1133b, 0x1133b}, {0x1145e, 0x1145e}, {0x11839, 0x1183a},
              {0x11930, 0x11930}, {0x1193d, 0x1193e}, {0x11943, 0x11943}, {0x119e0, 0x119e0},
              {0x11a34, 0x11a34}, {0x11a47, 0x11a47}, {0x11a99, 0x11a99}, {0x11d42, 0x11d42},
              {0x11d44, 0x11d45}, {0x11d97, 0x11d97}, {0x11f41, 0x11f42}, {0x16ff0, 0x16ff1},
              {0x1e08f, 0x1e08f}, {0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae}, {0x1e2ec, 0x1e2ef},
              {0x1e4ec, 0x1e4ef}}));
  return value >= 0x7fd && table.contains(value);
}

bool is_newer_composite(char32_t value) {
  static const CodePointTable table(
      ranges({{0x32ff, 0x32ff},   {0xa7f2, 0xa7f4},   {0xab69, 0xab69},   {0x10781, 0x10785},
              {0x10787, 0x107b0}, {0x107b2, 0x107ba}, {0x11938, 0x11938}, {0x1e030, 0x1e06d},
              {0x1f16c, 0x1f16c}, {0x1fbf0, 0x1fbf9}}));
  return value >= 0x32ff && table.contains(value);
}

}  // namespace sluice::engine
