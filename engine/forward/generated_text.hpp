// Text that comes token by token, given out as soon as no later token can change it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sluice::engine {

class GeneratedText {
 public:
  /// Text of a sequence of tokens; of more of them it goes on, but for a U+FFFD at its end, where
  /// the bytes of a character are not complete.
  using Decode = std::function<std::string(std::span<const std::int32_t> tokens)>;

  /// The text ends before the first of `stops` (none of them empty).
  GeneratedText(Decode decode, std::vector<std::string> stops);

  /// What can be given out now, perhaps nothing.
  [[nodiscard]] std::string add(std::int32_t token);
  /// What was held back, once no token follows.
  [[nodiscard]] std::string finish();

  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] const std::vector<std::int32_t>& tokens() const { return tokens_; }
  [[nodiscard]] const std::string& text() const { return text_; }  ///< Given out so far.

 private:
  std::string give_out(const std::string& all, std::size_t end);

  Decode decode_;
  std::vector<std::string> stops_;
  std::vector<std::int32_t> tokens_;
  std::string text_;
  bool stopped_ = false;
};

}  // namespace sluice::engine
