#include "engine/datasets/learnt_tokens.hpp"

#include <string_view>

#include "engine/tokenizer/normal_form.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// A learnt range of bytes [begin, end) of the text as the tokenizer cuts it.
struct LearntRange {
  std::size_t begin, end;
};

std::vector<LearntRange> learnt_ranges(const std::vector<ChatPiece>& pieces, bool composed) {
  std::vector<LearntRange> ranges;
  std::string before;
  const auto length = [&] { return composed ? normal_form_c(before).size() : before.size(); };
  for (const ChatPiece& piece : pieces) {
    const std::size_t begin = piece.learnt ? length() : 0;
    before += piece.text;
    if (piece.learnt && !piece.text.empty()) ranges.push_back({begin, length()});
  }
  return ranges;
}

}  // namespace

std::vector<LearntToken> learnt_tokens(Tokenizer& tokenizer, const std::vector<ChatPiece>& pieces,
                                       const std::string& where) {
  std::string text;
  for (const ChatPiece& piece : pieces) text += piece.text;
  std::vector<TokenId> ids;
  try {
    ids = tokenizer.encode(text, Tokenizer::SpecialTokens::none);
  } catch (const BadRequest& error) {
    throw BadRequest(where + ": " + error.what());
  }
  std::vector<std::size_t> ends;
  ends.reserve(ids.size());
  std::size_t length = 0;
  for (const TokenId id : ids) ends.push_back(length += tokenizer.bytes_of(id).size());
  const bool as_it_is = length == text.size();
  const bool composed = !as_it_is && tokenizer.composes() && length == normal_form_c(text).size();
  if (!as_it_is && !composed) {
    throw BadRequest(where + ": the tokenizer leaves out or adds text, so that the assistant's " +
                     "tokens cannot be told apart: take the example out");
  }
  std::size_t begin = 0;
  std::size_t range = 0;
  const std::vector<LearntRange> ranges = learnt_ranges(pieces, composed);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    while (range < ranges.size() && ranges[range].end <= begin) ++range;
    const bool learnt = range < ranges.size() && ends[i] > ranges[range].begin;
    begin = ends[i];
    if (!learnt) ids[i] = ~ids[i];
  }
  return ids;
}

}  // namespace sluice::engine
