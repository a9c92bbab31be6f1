// Patterns that normalizers replace and that pre-tokenizers cut by: regular expressions and plain
// strings.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::engine {

/// A pattern of a tokenizer.json, matched as Oniguruma matches it.
class TextPattern {
 public:
  enum class Kind { regex, text };
  /// Compiles `pattern`: an expression in Oniguruma's syntax, or a text that stands for itself.
  /// Throws BadRequest `WHERE: ...` if it is no valid expression or uses what to_pcre2() does not
  /// support.
  TextPattern(Kind kind, const std::string& pattern, const std::string& where);
  ~TextPattern();
  TextPattern(TextPattern&&) noexcept;
  TextPattern& operator=(TextPattern&&) = delete;

  /// Called with the bytes [begin, end) of a match, which may be empty.
  using Match = std::function<void(std::size_t begin, std::size_t end)>;
  /// Finds all matches in `text` (UTF-8) from left to right; they do not overlap. Throws BadRequest
  /// where matching exceeds PCRE2's limits. Only one thread at a time.
  void find(std::string_view text, const Match& match) const;

 private:
  struct Compiled;
  void find_text(std::string_view text, const Match& match) const;

  std::string text_;  ///< The plain text searched for; empty for an expression.
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace sluice::engine
