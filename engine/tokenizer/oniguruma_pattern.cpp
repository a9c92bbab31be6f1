#include "engine/tokenizer/oniguruma_pattern.hpp"

#include <algorithm>
#include <optional>

#include "engine/tokenizer/unicode_properties.hpp"
#include "sim/error.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

/// Oniguruma allows 20 levels of nested sets; patterns of tokenizers have two.
constexpr int kMostLevels = 20;

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

/// Translates a pattern from left to right. Classes become sets, which are written out anew.
class Translation {
 public:
  Translation(const std::string& pattern, const std::string& where)
      : pattern_(pattern), where_(where) {}

  std::string run() {
    while (at_ < pattern_.size()) element();
    return out_;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw BadRequest(where_ + ": the pattern " + what + ", which is not supported: " + pattern_);
  }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }
  bool take(std::string_view text) {
    if (std::string_view(pattern_).substr(at_).starts_with(text)) {
      at_ += text.size();
      return true;
    }
    return false;
  }
  char32_t take_character() {
    const auto point = sim::code_point_at(pattern_, at_);
    if (!point) fail("is not UTF-8");
    at_ += point->bytes;
    return point->value;
  }

  /// Translates one element: a group's bracket, an atom or a quantifier.
  void element() {
    const char letter = peek();
    if (letter == '(') return open_group();
    if (letter == ')') {
      if (!groups_.empty()) {
        atom_ = groups_.back();
        groups_.pop_back();
      }
      out_ += pattern_[at_++];
      return;
    }
    if (letter == '*' || letter == '+' || letter == '?') return quantifier();
    if (letter == '{' && interval()) return;
    atom_ = out_.size();
    if (letter == '[') {
      ++at_;
      out_ += pcre2_class(class_members(1));
    } else if (letter == '\\') {
      escape();
    } else if (letter == '{') {
      out_ += "\\{";
      ++at_;
    } else {
      sim::append_utf8(out_, take_character());
    }
  }

  void open_group() {
    groups_.push_back(out_.size());
    const std::size_t begin = at_++;
    if (peek() == '*') fail("uses (*");
    if (!take("?")) {
      out_ += '(';
      return;
    }
    for (const char* kind : {":", "=", "!", ">", "<=", "<!"}) {
      if (take(kind)) {
        out_ += std::string("(?") + kind;
        return;
      }
    }
    if (take("#")) {
      while (at_ < pattern_.size() && peek() != ')') ++at_;
      ++at_;
      groups_.pop_back();
      return;
    }
    if (peek() == '<' && is_letter(peek(1))) {
      out_ += "(?";
      return;
    }
    // Options: Oniguruma's m lets a dot match the end of a line, which is PCRE2's s.
    out_ += "(?";
    while (peek() == 'i' || peek() == 'm' || peek() == 'x' || peek() == '-') {
      out_ += peek() == 'm' ? 's' : peek();
      ++at_;
    }
    if (peek() != ':' && peek() != ')') fail("uses " + pattern_.substr(begin, at_ - begin + 1));
    if (peek() == ')') groups_.pop_back();
    out_ += pattern_[at_++];
  }

  void quantifier() {
    out_ += pattern_[at_++];
    if (peek() == '?' || peek() == '+') out_ += pattern_[at_++];
  }

  /// Translates {n}, {n,}, {,n} and {n,m}; leaves anything else, which stands for itself. A + behind
  /// it repeats the whole, and does not make it possessive as in PCRE2; a ? behind {n} makes the
  /// whole optional.
  bool interval() {
    const std::size_t close = pattern_.find('}', at_);
    if (close == std::string::npos) return false;
    const std::string inside = pattern_.substr(at_ + 1, close - at_ - 1);
    const std::size_t comma = inside.find(',');
    const std::string low = inside.substr(0, comma);
    const std::string high = comma == std::string::npos ? "" : inside.substr(comma + 1);
    if (!std::ranges::all_of(low, is_digit) || !std::ranges::all_of(high, is_digit)) return false;
    if (low.empty() && high.empty()) return false;
    at_ = close + 1;
    out_ += "{" + (low.empty() ? "0" : low) + (comma == std::string::npos ? "" : "," + high) + "}";
    const bool exact = comma == std::string::npos;
    if (peek() == '+' || (peek() == '?' && exact)) {
      out_.insert(atom_, "(?:");
      out_ += std::string(")") + pattern_[at_++];
    } else if (peek() == '?') {
      out_ += pattern_[at_++];
    }
    return true;
  }

  /// Translates an escape outside a class.
  void escape() {
    const char next = peek(1);
    if (next == '\0') fail("ends in \\");
    if (const auto set = class_escape()) {
      out_ += pcre2_class(*set);
      return;
    }
    if (next == 'b' || next == 'B') {
      const std::string word = pcre2_class(property_set("word").value());
      out_ += next == 'b' ? "(?:(?<!" + word + ")(?=" + word + ")|(?<=" + word + ")(?!" + word + "))"
                          : "(?:(?<!" + word + ")(?!" + word + ")|(?<=" + word + ")(?=" + word + "))";
      at_ += 2;
      return;
    }
    if (next == 'A' || next == 'z' || next == 'Z' || next == 'R' || next == 'X' || next == 'K' ||
        (next >= '1' && next <= '9')) {
      out_ += pattern_.substr(at_, 2);
      at_ += 2;
      return;
    }
    CodePointSet one;
    const char32_t value = escaped_character();
    one.add({value, value});
    out_ += pcre2_class(one);
  }

  /// The set of an escape that stands for one: \d, \p{L} and their like; none for others.
  std::optional<CodePointSet> class_escape() {
    const char next = peek(1);
    const char* name = nullptr;
    switch (next) {
      case 'd': case 'D': name = "digit"; break;
      case 'w': case 'W': name = "word"; break;
      case 's': case 'S': name = "space"; break;
      case 'h': case 'H': name = "xdigit"; break;
      case 'p': case 'P': return property();
      default: return std::nullopt;
    }
    at_ += 2;
    const CodePointSet set = property_set(name).value();
    return next >= 'a' ? set : set.complement();
  }

  CodePointSet property() {
    const std::size_t begin = at_;
    bool negated = peek(1) == 'P';
    at_ += 2;
    const std::size_t close = pattern_.find('}', at_);
    if (!take("{") || close == std::string::npos) fail("uses " + pattern_.substr(begin, 3));
    if (take("^")) negated = !negated;
    const auto set = property_set(pattern_.substr(at_, close - at_));
    if (!set) fail("uses " + pattern_.substr(begin, close + 1 - begin));
    at_ = close + 1;
    return negated ? set->complement() : *set;
  }

  /// The character of an escape such as \n, \x{2581} or \-.
  char32_t escaped_character() {
    const std::size_t begin = at_++;
    const char next = peek();
    constexpr std::string_view kNames = "tnrfvae", kValues = "\t\n\r\f\v\a\x1b";
    if (const auto known = kNames.find(next); next != '\0' && known != std::string_view::npos) {
      ++at_;
      return static_cast<unsigned char>(kValues[known]);
    }
    if (take("x{")) return number(16, 8, begin, true);
    if (take("x")) return number(16, 2, begin, false);
    if (take("u")) return number(16, 4, begin, false);
    if (is_letter(next) || is_digit(next)) fail("uses " + pattern_.substr(begin, 2));
    return take_character();
  }

  char32_t number(int base, std::size_t most, std::size_t begin, bool braced) {
    std::size_t end = at_;
    while (end < pattern_.size() && end - at_ < most && std::isxdigit(static_cast<unsigned char>(pattern_[end]))) ++end;
    if (end == at_ || (braced && (end >= pattern_.size() || pattern_[end] != '}'))) {
      fail("uses " + pattern_.substr(begin, end + 1 - begin));
    }
    const unsigned long value = std::stoul(pattern_.substr(at_, end - at_), nullptr, base);
    at_ = end + (braced ? 1 : 0);
    if (value > kLastCodePoint) fail("uses " + pattern_.substr(begin, at_ - begin));
    return static_cast<char32_t>(value);
  }

  /// The members of a class whose [ has been taken: unions, ranges, nested classes, and && between
  /// whole unions.
  CodePointSet class_members(int level) {
    if (level > kMostLevels) fail("nests classes too deep");
    const bool negated = take("^");
    std::optional<CodePointSet> all;
    CodePointSet members;
    for (bool first = true;; first = false) {
      if (at_ >= pattern_.size()) fail("has a [ without ]");
      if (peek() == ']' && !first) break;
      if (take("&&")) {
        all = all ? all->intersection(members) : members;
        members = {};
        continue;
      }
      member(members, level);
    }
    ++at_;
    if (all) members = all->intersection(members);
    return negated ? members.complement() : members;
  }

  /// Adds one member of a class: a nested class, a property, a character or a range.
  void member(CodePointSet& members, int level) {
    if (take("[:")) {
      const std::size_t close = pattern_.find(":]", at_);
      if (close == std::string::npos) fail("has a [: without :]");
      const bool negated = take("^");
      const std::string name = pattern_.substr(at_, close - at_);
      const auto set = property_set(name);
      if (!set) fail("uses [:" + name + ":]");
      at_ = close + 2;
      return members.unite(negated ? set->complement() : *set);
    }
    if (take("[")) return members.unite(class_members(level + 1));
    if (peek() == '\\') {
      if (const auto set = class_escape()) return members.unite(*set);
    }
    const char32_t first = class_character();
    char32_t last = first;
    if (peek() == '-' && peek(1) != ']' && peek(1) != '\0' &&
        !(peek(1) == '&' && peek(2) == '&')) {
      ++at_;
      if (peek() == '[' || (peek() == '\\' && std::string_view("dDwWsShHpP").find(peek(1)) !=
                                                  std::string_view::npos)) {
        members.add({first, first});
        return members.add({U'-', U'-'});
      }
      last = class_character();
    }
    if (last < first) fail("has an empty range in a class");
    members.add({first, last});
  }

  char32_t class_character() {
    if (peek() != '\\') return take_character();
    if (peek(1) == 'b') {
      at_ += 2;
      return U'\b';
    }
    return escaped_character();
  }

  const std::string& pattern_;
  const std::string& where_;
  std::string out_;
  std::size_t at_ = 0;
  std::size_t atom_ = 0;              ///< Where the last atom begins in the output.
  std::vector<std::size_t> groups_;  ///< Where each open group begins in the output.
};

}  // namespace

std::string to_pcre2(const std::string& pattern, const std::string& where) {
  return Translation(pattern, where).run();
}

}  // namespace sluice::engine
