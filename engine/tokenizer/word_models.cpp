// The models WordLevel, whose tokens are whole pieces, and WordPiece, which takes the longest token
// that a piece begins with, again and again.
#include <nlohmann/json.hpp>

#include "engine/tokenizer/json_step.hpp"
#include "engine/tokenizer/token_model.hpp"
#include "sim/error.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

/// The token for what has none.
class UnknownToken {
 public:
  UnknownToken(std::string name, const Vocabulary& vocabulary) : name_(std::move(name)) {
    const auto found = vocabulary.find(name_);
    if (found != vocabulary.end()) id_ = found->second;
  }
  [[nodiscard]] PieceToken of(std::string_view piece) const {
    if (id_) return {*id_, 0, static_cast<std::uint32_t>(piece.size())};
    throw BadRequest("text: \"" + std::string(piece.substr(0, 80)) + "\" has no token, and the " +
                     "unknown token \"" + name_ + "\" is not in the vocabulary");
  }

 private:
  std::string name_;
  std::optional<TokenId> id_;
};

class WordLevelModel : public TokenModel {
 public:
  WordLevelModel(Vocabulary vocabulary, std::string unknown)
      : vocabulary_(std::move(vocabulary)), unknown_(std::move(unknown), vocabulary_) {}

  void encode(std::string_view piece, std::vector<PieceToken>& tokens) override {
    const auto found = vocabulary_.find(piece);
    tokens.push_back(found == vocabulary_.end()
                         ? unknown_.of(piece)
                         : PieceToken{found->second, 0, static_cast<std::uint32_t>(piece.size())});
  }
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
  UnknownToken unknown_;
};

struct WordPieceSettings {
  std::string unknown, prefix;
  std::int64_t most_characters = 0;
};

class WordPieceModel : public TokenModel {
 public:
  WordPieceModel(Vocabulary vocabulary, const WordPieceSettings& settings)
      : vocabulary_(std::move(vocabulary)),
        unknown_(settings.unknown, vocabulary_),
        prefix_(settings.prefix),
        most_characters_(settings.most_characters) {}

  void encode(std::string_view piece, std::vector<PieceToken>& tokens) override {
    std::int64_t characters = 0;
    for (const char byte : piece) characters += (static_cast<unsigned char>(byte) & 0xc0U) != 0x80;
    if (characters > most_characters_) return tokens.push_back(unknown_.of(piece));
    const std::size_t before = tokens.size();
    for (std::size_t begin = 0; begin < piece.size();) {
      const auto longest = longest_at(piece, begin);
      if (!longest) {
        tokens.resize(before);
        return tokens.push_back(unknown_.of(piece));
      }
      tokens.push_back(*longest);
      begin = longest->end;
    }
  }
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  std::optional<PieceToken> longest_at(std::string_view piece, std::size_t begin) const {
    for (std::size_t end = piece.size(); end > begin;) {
      const std::string text =
          (begin > 0 ? prefix_ : std::string()) + std::string(piece.substr(begin, end - begin));
      if (const auto found = vocabulary_.find(text); found != vocabulary_.end()) {
        return PieceToken{found->second, static_cast<std::uint32_t>(begin),
                          static_cast<std::uint32_t>(end)};
      }
      --end;
      while (end > begin && (static_cast<unsigned char>(piece[end]) & 0xc0U) == 0x80) --end;
    }
    return std::nullopt;
  }

  Vocabulary vocabulary_;
  UnknownToken unknown_;
  std::string prefix_;
  std::int64_t most_characters_;
};

}  // namespace

std::unique_ptr<TokenModel> read_word_level(const JsonStep& model) {
  return std::make_unique<WordLevelModel>(read_vocabulary(model), model.text("unk_token"));
}

std::unique_ptr<TokenModel> read_word_piece(const JsonStep& model) {
  constexpr std::int64_t kMostCharacters = 100;
  const bool given = model.value().contains("max_input_chars_per_word");
  return std::make_unique<WordPieceModel>(
      read_vocabulary(model),
      WordPieceSettings{
          .unknown = model.text("unk_token", "[UNK]"),
          .prefix = model.text("continuing_subword_prefix", "##"),
          .most_characters = given ? model.count("max_input_chars_per_word") : kMostCharacters});
}

}  // namespace sluice::engine
