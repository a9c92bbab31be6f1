#include "engine/datasets/decoded_row.hpp"

namespace sluice::engine {

std::vector<ShownPiece> decoded(const Tokenizer& tokenizer, std::span<const LearntToken> tokens) {
  std::vector<ShownPiece> pieces;
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    ids.push_back(id_of(tokens[i]));
    const bool learnt = is_learnt(tokens[i]);
    if (i + 1 < tokens.size() && is_learnt(tokens[i + 1]) == learnt) continue;
    pieces.push_back({tokenizer.decode(ids, Tokenizer::Special::kept), learnt});
    ids.clear();
  }
  return pieces;
}

}  // namespace sluice::engine
