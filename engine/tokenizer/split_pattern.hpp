// The pattern that cuts text into words before bytes are merged.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::engine {

/// A regular expression in Oniguruma's syntax, matched by PCRE2 as Oniguruma would: \p{L}, \p{N}
/// and \s mean what they mean there (unicode_tables.hpp).
class SplitPattern {
 public:
  /// Throws BadRequest `WHERE: ...` for what is no pattern or uses what this translation does not
  /// know: other \p{...}, \S, \P and other letters behind a backslash inside brackets.
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

/// The same pattern in PCRE2's syntax; throws as the constructor does.
[[nodiscard]] std::string to_pcre2(const std::string& pattern, const std::string& where);

}  // namespace sluice::engine
