// Byte-pair encoding: a word's bytes, merged pair by pair in the order the merges were learnt
// (Sennrich et al. 2016; over bytes: Radford et al. 2019).
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
  /// `vocabulary` and `merges` are in GPT-2's letters. `whole_words`: a word that is a token is not
  /// taken apart ("ignore_merges"). Throws BadRequest `WHERE: ...` for a merge of no tokens.
  BytePairs(Vocabulary vocabulary, const std::vector<std::pair<std::string, std::string>>& merges,
            bool whole_words, const std::string& where);

  /// Appends the ids of one word (bytes, not letters). A byte without a token gives nothing, as in
  /// the tokenizers library. Remembers short words: one thread at a time.
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
  std::unordered_map<std::string, std::vector<TokenId>> words_;  ///< Seen before.
};

}  // namespace sluice::engine
