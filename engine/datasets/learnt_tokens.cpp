#include "engine/datasets/learnt_tokens.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// A learnt range of bytes [begin, end) of the text.
struct LearntRange {
  std::size_t begin, end;
};

std::vector<LearntRange> learnt_ranges(const std::vector<ChatPiece>& pieces) {
  std::vector<LearntRange> ranges;
  std::size_t begin = 0;
  for (const ChatPiece& piece : pieces) {
    const std::size_t end = begin + piece.text.size();
    if (piece.learnt && begin < end) ranges.push_back({begin, end});
    begin = end;
  }
  return ranges;
}

/// Whether any byte of the token's place is learnt; of an empty place, the byte that it stands
/// before.
bool is_learnt_by(const std::vector<LearntRange>& ranges, const PlacedToken& token) {
  const auto range = std::ranges::upper_bound(ranges, token.begin, {}, &LearntRange::end);
  return range != ranges.end() && range->begin < std::max(token.end, token.begin + 1);
}

}  // namespace

std::vector<LearntToken> learnt_tokens(Tokenizer& tokenizer, const std::vector<ChatPiece>& pieces,
                                       const std::string& where) {
  std::string text;
  for (const ChatPiece& piece : pieces) text += piece.text;
  const std::vector<LearntRange> ranges = learnt_ranges(pieces);
  std::vector<LearntToken> tokens;
  try {
    for (const PlacedToken& token : tokenizer.encode_with_offsets(text)) {
      tokens.push_back(is_learnt_by(ranges, token) ? token.id : ~token.id);
    }
  } catch (const BadRequest& error) {
    throw BadRequest(where + ": " + error.what());
  }
  return tokens;
}

}  // namespace sluice::engine
