#include "engine/tokenizer/byte_pairs.hpp"

#include <algorithm>
#include <cstdio>

#include "engine/tokenizer/byte_letters.hpp"
#include "sim/error.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {


/// Name of the token of a byte that has no other (SentencePiece's byte fallback).
std::string fallback_name(std::size_t byte) {
  char name[8];
  std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
  return name;
}

std::uint32_t number(TokenId id) { return static_cast<std::uint32_t>(id); }

}  // namespace

BytePairs::BytePairs(Vocabulary vocabulary, const Merges& merges, BytePairSettings settings,
                     const std::string& where)
    : vocabulary_(std::move(vocabulary)), settings_(std::move(settings)) {
  const auto id_of = [&](const std::string& token) {
    const auto found = vocabulary_.find(token);
    if (found == vocabulary_.end()) {
      throw BadRequest(where + ": merges: \"" + token + "\" is not in the vocabulary");
    }
    return found->second;
  };
  std::int32_t rank = 0;
  for (const auto& [left, right] : merges) {
    const TokenId first = id_of(left);  // In order, so that the first missing one is named.
    const TokenId second = id_of(right);
    // A prefix marks a token that continues a word, and the merged token begins as the left one.
    const std::size_t skipped = std::min(settings_.prefix.size(), right.size());
    merges_.set(number(first), number(second), rank++, id_of(left + right.substr(skipped)));
  }
  if (settings_.unknown) {
    const auto found = vocabulary_.find(*settings_.unknown);
    if (found != vocabulary_.end()) unknown_ = found->second;
  }
  for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
    const auto letter = vocabulary_.find(byte_letters()[byte]);
    bytes_[byte] = letter == vocabulary_.end() ? kNoToken : letter->second;
    const auto code = vocabulary_.find(fallback_name(byte));
    fallback_[byte] = code == vocabulary_.end() ? kNoToken : code->second;
  }
  if (settings_.bytes) {
    for (const auto& [token, id] : vocabulary_) {
      if (auto bytes = bytes_of_letters(token)) whole_.emplace(std::move(*bytes), id);
    }
  } else if (settings_.prefix.empty() && settings_.suffix.empty()) {
    find_joints();
  }
}

void BytePairs::find_joints() {
  parts_ = true;
  std::vector<CodePointRange> single;
  for (const auto& [token, id] : vocabulary_) {
    std::optional<char32_t> before;
    for (std::size_t at = 0; at < token.size();) {
      const auto point = sim::code_point_at(token, at);
      if (!point) break;
      if (point->bytes == token.size()) single.push_back({point->value, point->value});
      if (before) joints_.set(*before, point->value, 0, 0);
      before = point->value;
      at += point->bytes;
    }
  }
  single_ = CodePointTable(CodePointSet(single));
}

std::size_t BytePairs::part_end(std::string_view piece, std::size_t begin) const {
  // Where words of white space or of SentencePiece's marks begin, and in longer words anywhere.
  constexpr std::size_t kLongWord = 48;
  std::optional<sim::CodePoint> before;
  for (std::size_t at = begin; at < piece.size();) {
    const auto point = sim::code_point_at(piece, at);
    if (!point) return piece.size();
    const bool candidate = point->value == U'\u2581' || point->value <= U' ' ||
                           (before && before->value <= U' ') || at - begin > kLongWord;
    if (before && candidate && joints_.find(before->value, point->value) == nullptr &&
        single_.contains(before->value) && single_.contains(point->value)) {
      return at;
    }
    before = point;
    at += point->bytes;
  }
  return piece.size();
}

void BytePairs::encode(std::string_view piece, std::vector<PieceToken>& tokens) {
  if (settings_.whole_words) {
    const auto& known = settings_.bytes ? whole_ : vocabulary_;
    if (const auto whole = known.find(piece); whole != known.end()) {
      return tokens.push_back({whole->second, 0, static_cast<std::uint32_t>(piece.size())});
    }
  }
  if (!parts_) return encode_word(piece, 0, tokens);
  for (std::size_t begin = 0; begin < piece.size();) {
    const std::size_t end = part_end(piece, begin);
    encode_word(piece.substr(begin, end - begin), static_cast<std::uint32_t>(begin), tokens);
    begin = end;
  }
}

void BytePairs::encode_word(std::string_view word, std::uint32_t begin,
                            std::vector<PieceToken>& tokens) {
  const auto append = [&](TokenId id, std::uint32_t from, std::uint32_t to) {
    tokens.push_back({id, begin + from, begin + to});
  };
  if (word.size() <= kLongestRemembered) {
    if (const auto known = words_.find(word); known != words_.end()) {
      for (const PieceToken& each : known->second) append(each.id, each.begin, each.end);
      return;
    }
  }
  symbols_.clear();
  add_symbols(word);
  std::vector<PieceToken> found;
  if (!symbols_.empty()) {
    symbols_.back().after = -1;
    merge();
    std::uint32_t at = 0;
    for (std::int32_t i = 0; i >= 0; i = symbols_[static_cast<std::size_t>(i)].after) {
      const Symbol& symbol = symbols_[static_cast<std::size_t>(i)];
      found.push_back({symbol.id, at, at + symbol.length});
      at += symbol.length;
    }
  }
  for (const PieceToken& each : found) append(each.id, each.begin, each.end);
  if (word.size() > kLongestRemembered) return;
  if (words_.size() >= kMostWords) words_.clear();
  words_.emplace(word, std::move(found));
}

void BytePairs::add_symbol(TokenId id, std::uint32_t length) {
  const auto index = static_cast<std::int32_t>(symbols_.size());
  symbols_.push_back({id, index - 1, index + 1, length});
}

std::optional<TokenId> BytePairs::symbol_of(std::string_view character, bool first,
                                            bool last) const {
  const bool plain = (first || settings_.prefix.empty()) && (!last || settings_.suffix.empty());
  const auto found =
      plain ? vocabulary_.find(character)
            : vocabulary_.find((first ? "" : settings_.prefix) + std::string(character) +
                               (last ? settings_.suffix : ""));
  if (found == vocabulary_.end()) return std::nullopt;
  return found->second;
}

void BytePairs::add_symbols(std::string_view word) {
  if (settings_.bytes) {
    for (const char byte : word) {
      const TokenId id = bytes_[static_cast<unsigned char>(byte)];
      if (id != kNoToken) add_symbol(id, 1);
    }
    return;
  }
  std::uint32_t unknown = 0;  // Bytes of the unknown token that is not added yet.
  const auto add_unknown = [&] {
    if (unknown > 0) add_symbol(unknown_.value(), unknown);
    unknown = 0;
  };
  for (std::size_t at = 0; at < word.size();) {
    const auto point = sim::code_point_at(word, at);
    const std::size_t bytes = point ? point->bytes : 1;
    const std::string_view character = word.substr(at, bytes);
    const bool first = at == 0, last = at + bytes == word.size();
    at += bytes;
    if (const auto id = symbol_of(character, first, last)) {
      add_unknown();
      add_symbol(*id, static_cast<std::uint32_t>(bytes));
      continue;
    }
    // An unknown token stays where it is until the next known one, even behind bytes that follow.
    const auto text = (first ? "" : settings_.prefix) + std::string(character) +
                      (last ? settings_.suffix : "");
    if (settings_.byte_fallback && std::ranges::all_of(text, [&](char byte) {
          return fallback_[static_cast<unsigned char>(byte)] != kNoToken;
        })) {
      for (const char byte : text) add_symbol(fallback_[static_cast<unsigned char>(byte)], 1);
      continue;
    }
    if (!settings_.unknown) continue;
    if (!unknown_) {
      throw BadRequest("text: \"" + std::string(character) + "\" has no token, and the unknown " +
                       "token \"" + *settings_.unknown + "\" is not in the vocabulary");
    }
    if (!settings_.fuses_unknown) add_unknown();
    unknown += static_cast<std::uint32_t>(bytes);
  }
  add_unknown();
}

void BytePairs::merge() {
  const auto symbol = [&](std::int32_t at) -> Symbol& {
    return symbols_[static_cast<std::size_t>(at)];
  };
  queue_.clear();
  const auto consider = [&](std::int32_t at) {
    if (at < 0 || symbol(at).after < 0) return;
    if (const auto* found = merges_.find(number(symbol(at).id), number(symbol(symbol(at).after).id))) {
      queue_.push_back({found->rank, at, found->merged});
      std::push_heap(queue_.begin(), queue_.end());
    }
  };
  for (std::int32_t at = 0; at < static_cast<std::int32_t>(symbols_.size()); ++at) consider(at);
  while (!queue_.empty()) {
    const Candidate best = queue_.front();
    std::pop_heap(queue_.begin(), queue_.end());
    queue_.pop_back();
    Symbol& left = symbol(best.at);
    if (left.length == 0 || left.after < 0) continue;
    Symbol& right = symbol(left.after);
    const auto* found = merges_.find(number(left.id), number(right.id));
    if (found == nullptr || found->merged != best.merged) continue;
    left.id = best.merged;
    left.length += right.length;
    left.after = right.after;
    right.length = 0;
    if (left.after >= 0) symbol(left.after).before = best.at;
    consider(left.before);
    consider(best.at);
  }
}

}  // namespace sluice::engine
