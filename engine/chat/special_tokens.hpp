// The special tokens that a model folder names.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sluice::engine {

/// Special tokens of a model folder's tokenizer, as transformers' special_tokens_map has them.
struct SpecialTokens {
  /// Text of each token with a name (bos_token, eos_token, pad_token, unk_token, ...), by name.
  std::map<std::string, std::string> named;
  /// Texts of the tokens that additional_special_tokens lists.
  std::vector<std::string> additional;
  /// Text of every special token of the tokenizer, named or not, sorted.
  std::vector<std::string> all;
};

/// Reads a model folder's special tokens from tokenizer_config.json; where that is silent, from
/// special_tokens_map.json; then what transformers' tokenizer class defaults to. Throws BadRequest
/// for a token that is neither text nor an object with content.
[[nodiscard]] SpecialTokens read_special_tokens(const std::filesystem::path& model_folder);

}  // namespace sluice::engine
