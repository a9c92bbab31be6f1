#include <cstdio>

#include "engine/tokenizer/oniguruma_pattern.hpp"
#include "engine/tokenizer/unicode_properties.hpp"

namespace sluice::engine {
namespace {

/// A property of PCRE2 by which a class may name many code points at once.
struct Group {
  const char* name;
  CodePointSet stable;    ///< Members that every version of Unicode since 14 agrees on.
  CodePointSet possible;  ///< Those and the ones that some version may count among them.
};

CodePointSet members_of(std::string_view group) {
  CodePointSet members;
  for (std::size_t i = 0; i < std::size(kCategories); ++i) {
    if (kCategories[i].starts_with(group)) members.unite(category_set(i));
  }
  return members;
}

/// Groups of categories first, then single ones. PCRE2's tables may be older or newer than
/// Oniguruma's, so unassigned code points are never named by property.
const std::vector<Group>& groups() {
  static const std::vector<Group> all = [] {
    std::vector<Group> made;
    for (const char* name :
         {"L",  "M",  "N",  "P",  "S",  "Z",  "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd",
          "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs"}) {
      const CodePointSet members = members_of(name);
      CodePointSet possible = members;
      // U+1171E was a nonspacing mark until Unicode 14.
      if (members_of("Mn").without(members).empty()) possible.add({0x1171e, 0x1171e});
      made.push_back({name, members.without(changed_categories()), possible});
    }
    return made;
  }();
  return all;
}

std::string ranges_text(std::span<const CodePointRange> ranges) {
  std::string text;
  for (const CodePointRange& range : ranges) {
    char part[40];
    if (range.first == range.last) {
      std::snprintf(part, sizeof part, "\\x{%x}", static_cast<unsigned>(range.first));
    } else {
      std::snprintf(part, sizeof part, "\\x{%x}-\\x{%x}", static_cast<unsigned>(range.first),
                    static_cast<unsigned>(range.last));
    }
    text += part;
  }
  return text;
}

/// The inside of a class with the members of `set`.
std::string members_text(const CodePointSet& set) {
  constexpr std::size_t kFewRanges = 12;
  if (set.ranges().size() <= kFewRanges) return ranges_text(set.ranges());
  std::string text;
  CodePointSet rest = set;
  for (const Group& group : groups()) {
    if (group.stable.size() < 8 || rest.intersection(group.stable).empty()) continue;
    if (!group.possible.without(set).empty()) continue;
    text += std::string("\\p{") + group.name + "}";
    rest = rest.without(group.stable);
  }
  return text + ranges_text(rest.ranges());
}

}  // namespace

std::string pcre2_class(const CodePointSet& set) {
  if (set.empty()) return "(?!)";
  const CodePointSet others = set.complement();
  if (others.empty()) return "(?s:.)";
  // The side that leaves out the unassigned code points is the shorter one.
  constexpr std::int64_t kHalf = (kLastCodePoint + 1) / 2;
  if (set.size() > kHalf) return "[^" + members_text(others) + "]";
  return "[" + members_text(set) + "]";
}

}  // namespace sluice::engine
