// Tokens that stand in a text as they are, before it is cut into words: <|endoftext|>,
// <|im_start|>.
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
  bool special = false;     ///< Left out of decoded text where special tokens are.
  bool normalized = false;  ///< Looked for in the normalised text.
  bool takes_left = false,
       takes_right = false;  ///< The white space beside it ("lstrip", "rstrip").
};

/// A piece of a text: an added token, or what lies between two.
struct TextPart {
  std::string_view text;
  std::optional<TokenId> token;
};

/// Finds a set of added tokens. Of several that begin at one place the longest counts; what a token
/// has taken no other can have.
class AddedTokenFinder {
 public:
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);
  void split(std::string_view text, const std::function<void(const TextPart&)>& part) const;

 private:
  std::vector<AddedToken> tokens_;  ///< Longest first.
  std::string first_bytes_;         ///< With which any of them begins.
};

}  // namespace sluice::engine
