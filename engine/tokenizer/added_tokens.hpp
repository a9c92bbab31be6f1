// Added tokens: strings such as <|endoftext|> or <|im_start|> that become one token each, found
// before the text is cut into words.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/token_model.hpp"

namespace sluice::engine {

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool special = false;  ///< Whether the token is special: decoding may leave it out.
  /// Whether the token is searched for in the normalised text instead of the original.
  bool normalized = false;
  /// Whether the token counts only where no word's character touches it.
  bool single_word = false;
  bool takes_left = false;   ///< Whether a match includes the white space on its left ("lstrip").
  bool takes_right = false;  ///< Whether a match includes the white space on its right ("rstrip").
};

/// Bytes [begin, end) of a text: an added token with its id, or the text between two added tokens,
/// for which `token` is none.
struct TextPart {
  std::size_t begin, end;
  std::optional<TokenId> token;
};

/// Finds added tokens in a text. Where several begin at the same byte, the longest is taken;
/// matches do not overlap.
class AddedTokenFinder {
 public:
  /// The first of several tokens with the same content counts.
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);
  void split(std::string_view text, const std::function<void(const TextPart&)>& part) const;

 private:
  [[nodiscard]] const AddedToken* find(std::string_view text) const;

  std::vector<AddedToken> tokens_;
  TextMap<std::size_t> by_content_;
  /// Lengths of the tokens that begin with each byte, longest first.
  std::array<std::vector<std::size_t>, 256> lengths_;
};

}  // namespace sluice::engine
