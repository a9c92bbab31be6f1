// Settings of a tokenizer beside its vocabulary, in a model's folder: tokenizer_config.json,
// special_tokens_map.json, added_tokens.json and the model_type of config.json.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace sluice::engine {

/// Settings of the tokenizer of a model folder, as transformers reads them from the files beside
/// its vocabulary.
class FolderSettings {
 public:
  /// Reads tokenizer_config.json, special_tokens_map.json, added_tokens.json and, if the first
  /// names no class, config.json, as far as `folder` has them. Throws BadRequest if one is
  /// malformed.
  explicit FolderSettings(const std::filesystem::path& folder);

  /// Class of the tokenizer without "Fast": that of tokenizer_config.json, else the one that
  /// transformers has for the model_type of config.json; empty if neither names one.
  [[nodiscard]] const std::string& tokenizer_class() const { return class_; }
  /// The files of settings that the folder has and that were read.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const { return files_; }
  [[nodiscard]] bool flag(const char* key, bool otherwise) const;
  /// Text of the special token called `name`, such as "bos_token", if one is named.
  [[nodiscard]] std::optional<std::string> special_token(const char* name) const;

  /// The added tokens in the form of a tokenizer.json: first `known`, those that the vocabulary's
  /// own file adds; then the others in the order of their ids; then special ones without an id.
  [[nodiscard]] nlohmann::json added_tokens(nlohmann::json known) const;
  /// All tokens that the settings state, in the form of a tokenizer.json: those with an id in the
  /// order of their ids, then special ones. "changes" says whether their flags hold for tokens that
  /// are added already, too; "if_known" marks names of special tokens, which add none.
  [[nodiscard]] std::vector<nlohmann::json> stated_tokens() const;

 private:
  /// JSON contents of the settings' files.
  struct Documents;
  [[nodiscard]] std::vector<nlohmann::json> special_tokens() const;
  /// Tokens with an id, in the order of their ids; `special` are those that are special whatever
  /// they say.
  [[nodiscard]] std::vector<nlohmann::json> numbered_tokens(
      const std::vector<nlohmann::json>& special) const;
  /// Whether additional_special_tokens has a token of that text.
  [[nodiscard]] bool is_additional(const nlohmann::json& content) const;
  /// Whether tokenizer_config.json states the added tokens.
  [[nodiscard]] bool states_decoder() const;

  std::filesystem::path folder_;
  std::shared_ptr<const Documents> documents_;
  std::vector<std::filesystem::path> files_;
  std::string class_;
};

/// The content of a tokenizer.json made from the vocab.json and merges.txt of `folder`, as
/// transformers converts them. Throws BadRequest naming the file.
[[nodiscard]] nlohmann::json from_vocabulary_and_merges(const std::filesystem::path& folder);
/// The content of a tokenizer.json made from the tokenizer.model of `folder`. Throws BadRequest
/// naming the file.
[[nodiscard]] nlohmann::json from_sentencepiece(const std::filesystem::path& folder);

/// Whether vocab.json and merges.txt of a tokenizer of this class can be converted.
[[nodiscard]] bool converts_merges(const std::string& tokenizer_class);
/// Whether the tokenizer.model of a tokenizer of this class can be converted.
[[nodiscard]] bool converts_sentencepiece(const std::string& tokenizer_class);

}  // namespace sluice::engine
