// A model's tokenizer: converts text to ids and back as the Hugging Face tokenizers library does
// with the same tokenizer.json.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/tokenizer/added_tokens.hpp"
#include "engine/tokenizer/byte_pairs.hpp"
#include "engine/tokenizer/split_pattern.hpp"

namespace sluice::engine {

/// Checked contents of a tokenizer.json: byte-level BPE as in GPT-2, Llama 3, Qwen2 and Qwen3.
struct TokenizerParts {
  bool composes = false;  ///< Whether text is normalised to NFC.
  /// Patterns applied in order, each to the pieces left by the one before.
  std::vector<SplitPattern> patterns;
  /// Whether a piece of text that does not begin with a space gets one in front.
  bool prefix_space = false;
  std::unique_ptr<BytePairs> pairs;
  std::vector<AddedToken> added;
  std::vector<TokenId> before, after;  ///< Special tokens added before and after a text.
};

/// Parses a tokenizer.json. Throws BadRequest `WHERE: FIELD: ...` naming the field and the
/// unsupported kind (of model, normaliser, pre-tokenizer, post-processor or decoder).
[[nodiscard]] TokenizerParts read_tokenizer(const std::string& json, const std::string& where);

/// Called with the number of bytes of text cut so far and of all; may be empty.
using TextProgress = std::function<void(std::int64_t done, std::int64_t all)>;

/// Encodes and decodes text. Only one thread may use a tokenizer at a time.
class Tokenizer {
 public:
  enum class SpecialTokens { none, around };

  explicit Tokenizer(TokenizerParts parts);
  /// Reads a tokenizer.json file. Throws BadRequest.
  [[nodiscard]] static Tokenizer from_file(const std::filesystem::path& file);

  /// The ids of `text`, which must be UTF-8; throws BadRequest naming the first invalid byte. Added
  /// tokens in the text become their ids; SpecialTokens::around adds the model's own before and
  /// after (<|begin_of_text|>). Calls `progress` every MiB.
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text, SpecialTokens special,
                                            const TextProgress& progress = nullptr);
  /// Whether decoding keeps special tokens or leaves them out.
  enum class Special { kept, skipped };
  [[nodiscard]] std::string decode(std::span<const TokenId> ids, Special special) const;

  /// Bytes of text that one token stands for; empty if there is no such token.
  [[nodiscard]] std::string bytes_of(TokenId id) const;
  /// Whether text is normalised to NFC before it is cut, so that tokens may stand for other bytes
  /// than the text's own.
  [[nodiscard]] bool composes() const { return parts_.composes; }

  /// Id of a token, whether added or of the vocabulary.
  [[nodiscard]] std::optional<TokenId> find(const std::string& token) const;

 private:
  void encode_plain(std::string_view text, std::vector<TokenId>& ids);
  void encode_piece(std::string_view text, std::size_t pattern, std::vector<TokenId>& ids);

  struct Token {
    std::string text;
    bool special = false;
  };

  TokenizerParts parts_;
  AddedTokenFinder in_text_, in_normalized_;
  std::unordered_map<TokenId, Token> tokens_;
  /// Bytes of the current text that are done, counted in its normal form.
  std::int64_t done_ = 0;
  std::function<void()> tell_;  ///< Progress callback of the current text; may be empty.
};

}  // namespace sluice::engine
