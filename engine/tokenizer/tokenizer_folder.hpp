// The tokenizer of a model's folder, in whichever form the folder holds it.
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "engine/tokenizer/tokenizer.hpp"

namespace sluice::engine {

/// Forms in which a folder may hold its tokenizer; where there are several, the first of this list
/// is taken, as transformers does.
enum class TokenizerForm {
  tokenizer_json,         ///< tokenizer.json of the tokenizers library.
  vocabulary_and_merges,  ///< vocab.json and merges.txt, as GPT-2 and Qwen2 have them.
  sentencepiece,          ///< tokenizer.model of SentencePiece.
};

/// A folder's tokenizer, found but not yet read.
struct TokenizerFolder {
  TokenizerForm form;
  std::filesystem::path folder;
  /// Every file that decides the ids of a text, the main one first.
  std::vector<std::filesystem::path> files;
  /// Whether the tokens that stand beside a tokenizer.json are added to it (further_tokens()), as
  /// runs begun before version 0.2.0 did not.
  bool adds_further = true;

  /// Path of the main file, to be named in messages: FOLDER/tokenizer.json.
  [[nodiscard]] const std::filesystem::path& main_file() const { return files.front(); }
  /// Hash of all `files`. For a tokenizer.json it is the SHA-256 of that file, and of the tokens
  /// that the files beside it add (further_tokens()), if there are any. Throws
  /// EnvironmentError if a file cannot be read.
  [[nodiscard]] std::string hash() const;
  /// Reads the tokenizer. Throws BadRequest `FILE: FIELD: ...` if a file is malformed or holds what
  /// is not supported.
  [[nodiscard]] Tokenizer load() const;
};

/// A folder without a usable tokenizer.
struct NoTokenizer {
  /// Whether the folder has files of a tokenizer, which are not enough or of an unknown kind.
  bool has_files = false;
  /// One line that names what is missing and how to go on.
  std::string why;
};

/// Looks for the tokenizer of `folder` without reading its vocabulary. Throws BadRequest if a file
/// of settings beside it is malformed.
[[nodiscard]] std::variant<TokenizerFolder, NoTokenizer> find_tokenizer(
    const std::filesystem::path& folder);

}  // namespace sluice::engine
