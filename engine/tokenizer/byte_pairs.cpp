#include "engine/tokenizer/byte_pairs.hpp"

#include <queue>

#include "engine/tokenizer/byte_letters.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr TokenId kNoToken = -1;
constexpr std::size_t kMostWords = std::size_t{1} << 18;
constexpr std::size_t kLongestRemembered = 64;

std::uint64_t key_of(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

/// A token of the word being merged, linked to its neighbours.
struct Symbol {
  TokenId id;
  std::int32_t before, after;  ///< Indices of the neighbours; -1 if there is none.
};

/// A pair that could be merged; outdated if one of the two has changed since.
struct Candidate {
  std::int32_t rank, at;
  TokenId left, right, merged;
  /// Orders by least rank, then from left to right.
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : at > other.at;
  }
};

}  // namespace

BytePairs::BytePairs(Vocabulary vocabulary,
                     const std::vector<std::pair<std::string, std::string>>& merges,
                     bool whole_words, const std::string& where)
    : vocabulary_(std::move(vocabulary)), whole_words_(whole_words) {
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
    merges_[key_of(first, id_of(right))] = {rank++, id_of(left + right)};
  }
  for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
    const auto found = vocabulary_.find(byte_letters()[byte]);
    bytes_[byte] = found == vocabulary_.end() ? kNoToken : found->second;
  }
}

const BytePairs::Merge* BytePairs::find(TokenId left, TokenId right) const {
  const auto found = merges_.find(key_of(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void BytePairs::encode(std::string_view word, std::vector<TokenId>& ids) {
  if (word.size() > kLongestRemembered) return merge(word, ids);
  const std::string key(word);
  auto known = words_.find(key);
  if (known == words_.end()) {
    if (words_.size() >= kMostWords) words_.clear();
    known = words_.emplace(key, std::vector<TokenId>{}).first;
    merge(word, known->second);
  }
  ids.insert(ids.end(), known->second.begin(), known->second.end());
}

void BytePairs::merge(std::string_view word, std::vector<TokenId>& ids) const {
  if (whole_words_) {
    std::string letters;
    for (const char byte : word) letters += byte_letters()[static_cast<unsigned char>(byte)];
    if (const auto whole = vocabulary_.find(letters); whole != vocabulary_.end()) {
      ids.push_back(whole->second);
      return;
    }
  }
  std::vector<Symbol> symbols;
  for (const char byte : word) {
    const TokenId id = bytes_[static_cast<unsigned char>(byte)];
    if (id == kNoToken) continue;
    const auto index = static_cast<std::int32_t>(symbols.size());
    symbols.push_back({id, index - 1, index + 1});
  }
  if (symbols.empty()) return;
  symbols.back().after = -1;
  const auto symbol = [&](std::int32_t at) -> Symbol& {
    return symbols[static_cast<std::size_t>(at)];
  };
  std::priority_queue<Candidate> queue;
  const auto consider = [&](std::int32_t at) {
    if (at < 0 || symbol(at).after < 0) return;
    const TokenId left = symbol(at).id, right = symbol(symbol(at).after).id;
    if (const Merge* merge = find(left, right)) {
      queue.push({merge->rank, at, left, right, merge->merged});
    }
  };
  for (std::int32_t at = 0; at < static_cast<std::int32_t>(symbols.size()); ++at) consider(at);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbol(best.at);
    if (left.id != best.left || left.after < 0 || symbol(left.after).id != best.right) continue;
    Symbol& right = symbol(left.after);
    left.id = best.merged;
    left.after = right.after;
    right.id = kNoToken;
    if (left.after >= 0) symbol(left.after).before = best.at;
    consider(left.before);
    consider(best.at);
  }
  for (std::int32_t at = 0; at >= 0; at = symbol(at).after) ids.push_back(symbol(at).id);
}

}  // namespace sluice::engine
