// The tokenizer of a model: text to ids and back, as the Hugging Face tokenizers library does with
// the same tokenizer.json.
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

/// What a tokenizer.json says, read and checked: byte-level BPE as GPT-2, Llama 3, Qwen2 and Qwen3
/// have it.
struct TokenizerParts {
  bool composes = false;               ///< Normalises to NFC.
  std::vector<SplitPattern> patterns;  ///< Each cuts the pieces of the one before it.
  bool prefix_space = false;           ///< A piece of text without one gets a space in front.
  std::unique_ptr<BytePairs> pairs;
  std::vector<AddedToken> added;
  std::vector<TokenId> before, after;  ///< Special tokens around a text.
};

/// Reads a tokenizer.json's text. Throws BadRequest `WHERE: FIELD: ...` naming the field and the
/// kind that is not supported (other models, normalisers, pre-tokenizers, post-processors,
/// decoders).
[[nodiscard]] TokenizerParts read_tokenizer(const std::string& json, const std::string& where);

/// Bytes of text that are cut, of all; may be empty.
using TextProgress = std::function<void(std::int64_t done, std::int64_t all)>;

/// One thread at a time.
class Tokenizer {
 public:
  enum class SpecialTokens { none, around };

  explicit Tokenizer(TokenizerParts parts);
  /// Reads a tokenizer.json; throws BadRequest.
  [[nodiscard]] static Tokenizer from_file(const std::filesystem::path& file);

  /// `text` must be UTF-8: throws BadRequest naming the first byte that is not. Added tokens in it
  /// become their ids; `around` puts the model's own before and behind (<|begin_of_text|>). Tells
  /// `progress` every MiB.
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text, SpecialTokens special,
                                            const TextProgress& progress = nullptr);
  /// Bytes that are no UTF-8 become U+FFFD; ids without a token are left out.
  enum class Special { kept, skipped };
  [[nodiscard]] std::string decode(std::span<const TokenId> ids, Special special) const;

  /// Bytes of the text that one token stands for; none where there is no such token.
  [[nodiscard]] std::string bytes_of(TokenId id) const;
  /// Text is normalised to NFC before it is cut, so that tokens may stand for other bytes than its
  /// own.
  [[nodiscard]] bool composes() const { return parts_.composes; }

  /// Id of a token, added or not.
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
  /// Of the text that is being cut: bytes of its normal form so far.
  std::int64_t done_ = 0;
  std::function<void()> tell_;  ///< Empty where nobody wants to know.
};

}  // namespace sluice::engine
