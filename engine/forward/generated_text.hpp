// Streaming output of generated text: characters are released as soon as no later token can change
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sluice::engine {

class GeneratedText {
 public:
  /// Decodes a sequence of tokens. The text of a longer sequence must begin with the same text,
  /// except for a U+FFFD at its end where a character's bytes are incomplete.
  using Decode = std::function<std::string(std::span<const std::int32_t> tokens)>;

  /// Text ends before the first occurrence of any of `stops`, none of which may be empty.
  GeneratedText(Decode decode, std::vector<std::string> stops);

  /// Adds a token; returns the text that can be released now, perhaps none.
  [[nodiscard]] std::string add(std::int32_t token);
  /// Returns the text that was held back; call it after the last token.
  [[nodiscard]] std::string finish();

  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] const std::vector<std::int32_t>& tokens() const { return tokens_; }
  [[nodiscard]] const std::string& text() const { return text_; }  ///< Text released so far.

 private:
  std::string give_out(const std::string& all, std::size_t end);

  Decode decode_;
  std::vector<std::string> stops_;
  std::vector<std::int32_t> tokens_;
  std::string text_;
  bool stopped_ = false;
};

}  // namespace sluice::engine
