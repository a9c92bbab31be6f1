// What a training file of another program says of the model's tokenizer.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace sluice::planner {

/// What axolotl's `special_tokens`, `eot_tokens` and `tokens` state. The tokenizer and the chat
/// template of the model's folder must be so already: nothing is added to them here.
struct TokenizerClaims {
  std::map<std::string, std::string> special = {};  ///< Text of each named token: "eos_token", ...
  std::vector<std::string> turn_ends = {};  ///< Tokens of which one ends the assistant's turns.
  /// Texts that are tokens, by the key that states them.
  std::map<std::string, std::vector<std::string>> tokens = {};
};

}  // namespace sluice::planner
