// Regular expressions that cut text into words before bytes are merged.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::engine {

/// A regular expression in Oniguruma's syntax, translated to PCRE2 so that \p{L}, \p{N} and \s
/// match what they match in Oniguruma (unicode_tables.hpp).
class SplitPattern {
 public:
  /// Compiles `pattern`. Throws BadRequest `WHERE: ...` if it is no valid pattern or uses what the
  /// translation does not support: other \p{...}, and \S, \P and other escapes inside brackets.
  SplitPattern(const std::string& pattern, const std::string& where);
  ~SplitPattern();
  SplitPattern(SplitPattern&&) noexcept;
  SplitPattern& operator=(SplitPattern&&) = delete;

  /// Cuts `text` (UTF-8): every match is a piece, and so is what lies between matches. Throws
  /// BadRequest where matching exceeds PCRE2's limits. Only one thread at a time.
  void split(std::string_view text, const std::function<void(std::string_view piece)>& piece) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

/// Translates a pattern from Oniguruma's to PCRE2's syntax; throws as the constructor of
/// SplitPattern does.
[[nodiscard]] std::string to_pcre2(const std::string& pattern, const std::string& where);

}  // namespace sluice::engine
