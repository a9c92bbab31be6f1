// Documents as tokens that say whether they are learnt.
#pragma once

#include <string>
#include <vector>

#include "engine/datasets/chat_template.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace sluice::engine {

/// A token of a document: its id where it is learnt, ~id where it is only read.
using LearntToken = std::int32_t;
[[nodiscard]] constexpr bool is_learnt(LearntToken token) { return token >= 0; }
[[nodiscard]] constexpr TokenId id_of(LearntToken token) { return token < 0 ? ~token : token; }

/// The tokens of the pieces' joined text, cut as one: those that reach into a learnt piece are
/// learnt (as transformers' assistant_masks). Throws BadRequest `WHERE: ...` where the text is not
/// UTF-8, or where the tokenizer changes it so that its pieces cannot be told apart.
[[nodiscard]] std::vector<LearntToken> learnt_tokens(Tokenizer& tokenizer,
                                                     const std::vector<ChatPiece>& pieces,
                                                     const std::string& where);

}  // namespace sluice::engine
