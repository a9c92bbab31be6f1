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
  /// Function that turns a sequence of tokens into text. The text of a longer sequence must begin
  /// with the text of its first tokens, except for a U+FFFD at its end where a character's bytes
  /// are incomplete.
  using Decode = std::function<std::string(std::span<const std::int32_t> tokens)>;

  /// Begins an empty text. It will end before the first occurrence of any of `stops`, none of which
  /// may be empty.
  GeneratedText(Decode decode, std::vector<std::string> stops);

  /// Adds a generated token; returns the further text that no later token can change, perhaps none.
  [[nodiscard]] std::string add(std::int32_t token);
  /// Returns the text that was held back because a later token might have changed it; call it after
  /// the last token.
  [[nodiscard]] std::string finish();

  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] const std::vector<std::int32_t>& tokens() const { return tokens_; }
  /// All text that `add` and `finish` returned so far.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string give_out(const std::string& all, std::size_t end);

  Decode decode_;
  std::vector<std::string> stops_;
  std::vector<std::int32_t> tokens_;
  std::string text_;
  bool stopped_ = false;
};

}  // namespace sluice::engine
