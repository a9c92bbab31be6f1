// Byte-pair encoding: a word's bytes, merged pair by pair in the order in which the merges were
// learnt (Sennrich et al. 2016; over bytes: Radford et al. 2019).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice::engine {

using TokenId = std::int32_t;

class BytePairs {
 public:
  using Vocabulary = std::unordered_map<std::string, TokenId>;
  /// `vocabulary` and `merges` are in GPT-2's alphabet. `whole_words`: a word that is itself a
  /// token is not split ("ignore_merges"). Throws BadRequest `WHERE: ...` for a merge whose parts
  /// or result are not tokens.
  BytePairs(Vocabulary vocabulary, const std::vector<std::pair<std::string, std::string>>& merges,
            bool whole_words, const std::string& where);

  /// Appends the ids of one word, given as bytes. A byte without a token is dropped, as in the
  /// tokenizers library. Caches short words, so only one thread may call it at a time.
  void encode(std::string_view word, std::vector<TokenId>& ids);

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  struct Merge {
    std::int32_t rank;
    TokenId merged;
  };
  void merge(std::string_view word, std::vector<TokenId>& ids) const;
  [[nodiscard]] const Merge* find(TokenId left, TokenId right) const;

  Vocabulary vocabulary_;
  std::unordered_map<std::uint64_t, Merge> merges_;
  std::array<TokenId, 256> bytes_{};
  bool whole_words_;
  std::unordered_map<std::string, std::vector<TokenId>> words_;  ///< Cache of words encoded before.
};

}  // namespace sluice::engine
