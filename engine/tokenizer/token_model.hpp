// Models: objects that turn a piece of text into tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::engine {

using TokenId = std::int32_t;

/// Hash of texts that is the same for every kind of string, so that none is copied for a search.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;
/// Ids of tokens by their texts.
using Vocabulary = TextMap<TokenId>;

/// Value in a table of ids that stands for no token.
inline constexpr TokenId kNoToken = -1;
/// Number of pieces that a model remembers with their tokens, and their greatest length in bytes.
inline constexpr std::size_t kMostWords = std::size_t{1} << 18, kLongestRemembered = 64;

/// A token of a piece, and the bytes [begin, end) of the piece that it stands for.
struct PieceToken {
  TokenId id;
  std::uint32_t begin, end;
};

/// A model of tokens. Only one thread at a time may use it.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  /// Appends the tokens of `piece`, which is not empty. Throws BadRequest if the piece has a
  /// character without a token and the model has no token for unknown ones.
  virtual void encode(std::string_view piece, std::vector<PieceToken>& tokens) = 0;
  [[nodiscard]] virtual const Vocabulary& vocabulary() const = 0;
};

class JsonStep;

/// Reads the `model` of a tokenizer.json. `bytes`: pieces hold plain bytes, which the vocabulary
/// writes as letters (engine/tokenizer/byte_letters.hpp); only for a model that can_read_bytes().
[[nodiscard]] std::unique_ptr<TokenModel> read_model(const JsonStep& model, bool bytes);
/// Whether the model is byte-pair encoding whose tokens consist of letters that stand for bytes
/// (engine/tokenizer/byte_letters.hpp).
[[nodiscard]] bool can_read_bytes(const JsonStep& model);

/// Reads the model of one kind: BPE (byte-pair encoding), Unigram, WordLevel or WordPiece.
[[nodiscard]] std::unique_ptr<TokenModel> read_byte_pairs(const JsonStep& model, bool bytes);
[[nodiscard]] std::unique_ptr<TokenModel> read_unigram(const JsonStep& model);
[[nodiscard]] std::unique_ptr<TokenModel> read_word_level(const JsonStep& model);
[[nodiscard]] std::unique_ptr<TokenModel> read_word_piece(const JsonStep& model);

/// Token id that the JSON value `value` of field `key` holds; throws BadRequest if it is no id.
[[nodiscard]] TokenId read_id(const JsonStep& step, const std::string& key,
                              const nlohmann::json& value);
/// The vocabulary in the field `vocab` of a model in a tokenizer.json.
[[nodiscard]] Vocabulary read_vocabulary(const JsonStep& model);

}  // namespace sluice::engine
