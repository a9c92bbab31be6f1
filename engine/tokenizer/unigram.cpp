// The unigram model: the most probable way to cut a piece into tokens (Kudo 2018), found as the
// tokenizers library finds it (tokenizers, models/unigram/model.rs).
#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/tokenizer/byte_trie.hpp"
#include "engine/tokenizer/json_step.hpp"
#include "engine/tokenizer/token_model.hpp"
#include "sim/error.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

/// Distance of an unknown character's score below that of the least probable token.
constexpr double kUnknownPenalty = 10;

struct UnigramParts {
  std::vector<std::string> tokens;
  std::vector<double> scores;
  std::optional<TokenId> unknown;
  bool byte_fallback = false;
};

class Unigram : public TokenModel {
 public:
  explicit Unigram(UnigramParts parts) : parts_(std::move(parts)), trie_(keys_of(parts_)) {
    for (std::size_t i = 0; i < parts_.tokens.size(); ++i) {
      vocabulary_[parts_.tokens[i]] = static_cast<TokenId>(i);
      least_score_ = std::min(least_score_, parts_.scores[i]);
    }
    for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
      char name[8];
      std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
      const auto found = vocabulary_.find(name);
      bytes_[byte] = found == vocabulary_.end() ? kNoToken : found->second;
    }
  }

  void encode(std::string_view piece, std::vector<PieceToken>& tokens) override {
    if (piece.size() > kLongestRemembered) return search(piece, tokens);
    auto known = words_.find(piece);
    if (known == words_.end()) {
      std::vector<PieceToken> found;
      search(piece, found);
      if (words_.size() >= kMostWords) words_.clear();
      known = words_.emplace(piece, std::move(found)).first;
    }
    tokens.insert(tokens.end(), known->second.begin(), known->second.end());
  }
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  /// The best way to cut what ends at a byte: score_e = max over tokens from b to e of score_b +
  /// score of the token.
  struct Best {
    double score = 0;
    TokenId id = kNoToken;
    std::uint32_t begin = kUnreached;
  };
  static constexpr std::uint32_t kUnreached = ~std::uint32_t{0};

  static std::vector<std::pair<std::string_view, std::int32_t>> keys_of(const UnigramParts& parts) {
    std::vector<std::pair<std::string_view, std::int32_t>> keys;
    for (std::size_t i = 0; i < parts.tokens.size(); ++i) {
      if (!parts.tokens[i].empty()) keys.emplace_back(parts.tokens[i], static_cast<TokenId>(i));
    }
    return keys;
  }

  void offer(std::size_t begin, std::size_t end, double score, TokenId id) {
    Best& best = best_[end];
    const double sum = score + best_[begin].score;
    if (best.begin == kUnreached || sum > best.score) {
      best = {sum, id, static_cast<std::uint32_t>(begin)};
    }
  }

  void search(std::string_view piece, std::vector<PieceToken>& tokens) {
    best_.assign(piece.size() + 1, Best{});
    const double unknown_score = least_score_ - kUnknownPenalty;
    for (std::size_t at = 0; at < piece.size();) {
      const auto point = sim::code_point_at(piece, at);
      const std::size_t character = point ? point->bytes : 1;
      bool single = false;
      trie_.beginnings(piece.substr(at), [&](std::size_t length, TokenId id) {
        offer(at, at + length, parts_.scores[static_cast<std::size_t>(id)], id);
        single = single || length == character;
      });
      if (!single) {
        if (!parts_.unknown) {
          throw BadRequest("text: \"" + std::string(piece.substr(at, character)) +
                           "\" has no token, and the tokenizer has no unk_id");
        }
        offer(at, at + character, unknown_score, *parts_.unknown);
      }
      at += character;
    }
    // Backwards; neighbouring unknown characters become one token.
    path_.clear();
    for (std::size_t end = piece.size(); end > 0;) {
      const Best& best = best_[end];
      const bool unknown = parts_.unknown && best.id == *parts_.unknown;
      if (unknown && !path_.empty() && path_.back().id == *parts_.unknown) {
        path_.back().begin = best.begin;
      } else {
        path_.push_back({best.id, best.begin, static_cast<std::uint32_t>(end)});
      }
      end = best.begin;
    }
    std::ranges::reverse(path_);
    for (const PieceToken& each : path_) emit(piece, each, tokens);
  }

  void emit(std::string_view piece, const PieceToken& token,
            std::vector<PieceToken>& tokens) const {
    if (!parts_.unknown || token.id != *parts_.unknown) return tokens.push_back(token);
    const std::string_view text = piece.substr(token.begin, token.end - token.begin);
    if (const auto known = vocabulary_.find(text); known != vocabulary_.end()) {
      return tokens.push_back({known->second, token.begin, token.end});
    }
    const auto byte_token = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)]; };
    if (!parts_.byte_fallback ||
        !std::ranges::all_of(text, [&](char byte) { return byte_token(byte) != kNoToken; })) {
      return tokens.push_back(token);
    }
    for (const char byte : text) tokens.push_back({byte_token(byte), token.begin, token.end});
  }

  UnigramParts parts_;
  ByteTrie trie_;
  Vocabulary vocabulary_;
  double least_score_ = std::numeric_limits<double>::infinity();
  std::array<TokenId, 256> bytes_{};
  TextMap<std::vector<PieceToken>> words_;  ///< Pieces encoded before.
  std::vector<Best> best_;                  ///< Working memory.
  std::vector<PieceToken> path_;            ///< Working memory.
};

}  // namespace

std::unique_ptr<TokenModel> read_unigram(const JsonStep& model) {
  UnigramParts parts;
  const auto vocabulary = model.value().find("vocab");
  if (vocabulary == model.value().end() || !vocabulary->is_array()) {
    model.fail("vocab must be a list");
  }
  for (const nlohmann::json& each : *vocabulary) {
    if (!each.is_array() || each.size() != 2 || !each[0].is_string() || !each[1].is_number()) {
      model.fail("vocab[" + std::to_string(parts.tokens.size()) + "] must be a token and a score");
    }
    parts.tokens.push_back(each[0].get<std::string>());
    parts.scores.push_back(each[1].get<double>());
  }
  const auto unknown = model.value().find("unk_id");
  if (unknown != model.value().end() && !unknown->is_null()) {
    const std::int64_t id = model.count("unk_id");
    if (id >= std::ssize(parts.tokens)) model.fail("unk_id is not in the vocabulary");
    parts.unknown = static_cast<TokenId>(id);
  }
  parts.byte_fallback = model.flag("byte_fallback", false);
  return std::make_unique<Unigram>(std::move(parts));
}

}  // namespace sluice::engine
