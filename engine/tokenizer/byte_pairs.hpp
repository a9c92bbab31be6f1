// Byte-pair encoding: the symbols of a piece, merged pair by pair in the order in which the merges
// were learnt (Sennrich et al. 2016; over bytes: Radford et al. 2019).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/tokenizer/code_point_set.hpp"
#include "engine/tokenizer/pair_table.hpp"
#include "engine/tokenizer/token_model.hpp"

namespace sluice::engine {

struct BytePairSettings {
  /// Whether pieces consist of plain bytes, which the vocabulary writes as letters
  /// (engine/tokenizer/byte_letters.hpp).
  bool bytes = false;
  /// Whether a piece that is itself a token is not split ("ignore_merges").
  bool whole_words = false;
  /// Whether a character without a token becomes the tokens <0x00> ... <0xFF> of its bytes.
  bool byte_fallback = false;
  std::optional<std::string> unknown;  ///< Token for characters that have none ("unk_token").
  bool fuses_unknown = false;          ///< Whether neighbouring unknown tokens become one.
  std::string prefix;                  ///< Text put before each symbol but the first of a piece.
  std::string suffix;                  ///< Text put behind the last symbol of a piece.
};

class BytePairs : public TokenModel {
 public:
  using Merges = std::vector<std::pair<std::string, std::string>>;
  /// Throws BadRequest `WHERE: ...` for a merge whose parts or result are not tokens, or an unknown
  /// token that is not in the vocabulary.
  BytePairs(Vocabulary vocabulary, const Merges& merges, BytePairSettings settings,
            const std::string& where);

  /// In a piece of bytes a byte without a token is left out, as in the tokenizers library.
  void encode(std::string_view piece, std::vector<PieceToken>& tokens) override;
  [[nodiscard]] const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  /// A token of the piece being merged, linked to its neighbours.
  struct Symbol {
    TokenId id;
    std::int32_t before, after;  ///< Indices of the neighbours; -1 if there is none.
    std::uint32_t length;
  };
  /// A pair of neighbouring symbols that could be merged; outdated if one of the two has changed
  /// since.
  struct Candidate {
    std::int32_t rank, at;
    TokenId merged;
    /// Puts the candidate of least rank on top of a heap; of equal ranks, the leftmost.
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };

  void encode_word(std::string_view word, std::uint32_t begin, std::vector<PieceToken>& tokens);
  void add_symbols(std::string_view word);
  void add_symbol(TokenId id, std::uint32_t length);
  std::optional<TokenId> symbol_of(std::string_view character, bool first, bool last) const;
  void merge();
  /// End of the stretch of `piece` from `begin` that is encoded on its own, because no merge
  /// reaches across that end.
  std::size_t part_end(std::string_view piece, std::size_t begin) const;
  void find_joints();

  Vocabulary vocabulary_;
  BytePairSettings settings_;
  std::optional<TokenId> unknown_;
  PairTable merges_;
  std::array<TokenId, 256> bytes_{};     ///< Tokens of single bytes; -1: none.
  std::array<TokenId, 256> fallback_{};  ///< Tokens <0x00> ... <0xFF>; -1: none.
  TextMap<TokenId> whole_;               ///< Tokens by their bytes, for pieces that are tokens.
  /// Pairs of characters that stand side by side in a token. Between two characters that do not,
  /// nothing merges.
  PairTable joints_;
  CodePointTable single_{CodePointSet{}};   ///< Characters that are tokens.
  bool parts_ = false;                      ///< Whether long pieces are merged part by part.
  TextMap<std::vector<PieceToken>> words_;  ///< Tokens of words that were encoded before.
  std::vector<Symbol> symbols_;             ///< Working memory.
  std::vector<Candidate> queue_;            ///< Working memory: a heap.
};

}  // namespace sluice::engine
