// Added tokens: strings such as <|endoftext|> or <|im_start|> that become one token each, found
// before the text is cut into words.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/byte_pairs.hpp"

namespace sluice::engine {

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool special = false;     ///< Whether decoding may leave it out as a special token.
  bool normalized = false;  ///< Whether it is searched for in the normalised text.
  bool takes_left = false,
       /// Whether it includes the white space on its left or right ("lstrip", "rstrip").
      takes_right = false;
};

/// A piece of a text: an added token, or the text between two added tokens.
struct TextPart {
  std::string_view text;
  std::optional<TokenId> token;
};

/// Finds added tokens in a text. Where several begin at one place, the longest is taken; matches do
/// not overlap.
class AddedTokenFinder {
 public:
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);
  void split(std::string_view text, const std::function<void(const TextPart&)>& part) const;

 private:
  std::vector<AddedToken> tokens_;  ///< The tokens, longest first.
  std::string first_bytes_;         ///< Bytes with which any of the tokens begins.
};

}  // namespace sluice::engine
