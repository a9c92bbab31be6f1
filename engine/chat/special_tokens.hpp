// The special tokens that a model folder names.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sluice::engine {

/// Special tokens of a model folder, as transformers' special_tokens_map has them.
struct SpecialTokens {
  /// Text of bos_token, eos_token, pad_token, unk_token and others that the folder names.
  std::map<std::string, std::string> named;
  /// Texts in additional_special_tokens.
  std::vector<std::string> additional;
  /// Text of every special token of the tokenizer, named or not.
  std::vector<std::string> all;
};

/// Reads tokenizer_config.json; where that is silent, special_tokens_map.json, then what
/// transformers' tokenizer class defaults to. Throws BadRequest for a token that is neither text
/// nor an object with content.
[[nodiscard]] SpecialTokens read_special_tokens(const std::filesystem::path& model_folder);

}  // namespace sluice::engine
