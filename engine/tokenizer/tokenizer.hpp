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
#include "engine/tokenizer/decoder.hpp"
#include "engine/tokenizer/normalizer.hpp"
#include "engine/tokenizer/pre_tokenizer.hpp"
#include "engine/tokenizer/token_model.hpp"

namespace sluice::engine {

/// Checked contents of a tokenizer.json.
struct TokenizerParts {
  Normalizers normalizers;
  PreTokenizers pre_tokenizers;
  std::unique_ptr<TokenModel> model;
  std::vector<AddedToken> added;
  std::vector<TokenId> before, after;  ///< Special tokens added before and after a text.
  Decoders decoders;
  /// Whether decoding puts spaces between tokens, because there is no decoder.
  bool spaces_between = false;
};

/// Parses a tokenizer.json. Throws BadRequest `WHERE: FIELD: ...` naming the field and the
/// unsupported kind (of model, normalizer, pre-tokenizer, post-processor or decoder).
[[nodiscard]] TokenizerParts read_tokenizer(const std::string& json, const std::string& where);
/// Reads a tokenizer.json that is parsed already, and throws as the overload on text does. Its
/// member `around`, which no tokenizer.json has, may name the tokens `before` and `after` a text.
[[nodiscard]] TokenizerParts read_tokenizer(const nlohmann::json& document,
                                            const std::string& where);

/// Called with the number of bytes of text cut so far and of all; may be empty.
using TextProgress = std::function<void(std::int64_t done, std::int64_t all)>;

/// A token and the bytes [begin, end) of the text that it was made from.
struct PlacedToken {
  TokenId id;
  std::size_t begin, end;
};

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
  /// The tokens of `text` without the model's own around it, each with its place in `text`: whole
  /// characters, from the first to the last that any part of the token comes from. These are the
  /// library's offsets in bytes, before a post-processor trims white space off them. Tokens made of
  /// parts of one character share its place, and a token that the tokenizer inserts has the place
  /// of a neighbour.
  [[nodiscard]] std::vector<PlacedToken> encode_with_offsets(std::string_view text);

  /// Whether decoding keeps special tokens or leaves them out.
  enum class Special { kept, skipped };
  /// The text of `ids`, as the library's but for one thing: the content of an added token is
  /// decoded as it is, where a ByteLevel decoder of the library takes its letters for bytes.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids, Special special) const;

  /// Id of a token, whether added or of the vocabulary.
  [[nodiscard]] std::optional<TokenId> find(const std::string& token) const;

 private:
  class Encoding;
  struct Token {
    DecodedToken decoded;
    bool special = false;
  };

  TokenizerParts parts_;
  AddedTokenFinder in_text_, in_normalized_;
  std::unordered_map<TokenId, Token> tokens_;
  bool needs_places_ = false;
};

}  // namespace sluice::engine
