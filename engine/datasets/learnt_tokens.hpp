// Tokens of a document, each marked as learnt or only read.
#pragma once

#include <string>
#include <vector>

#include "engine/chat/chat_template.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace sluice::engine {

/// A token of a document with the mark whether it is learnt: its id if it is, ~id if it is only
/// read.
using LearntToken = std::int32_t;
[[nodiscard]] constexpr bool is_learnt(LearntToken token) { return token >= 0; }
[[nodiscard]] constexpr TokenId id_of(LearntToken token) { return token < 0 ? ~token : token; }

/// The tokens of a text that is given in pieces, learnt or only read. A token is learnt if any of
/// the bytes that it stands for (Tokenizer::encode_with_offsets) lies in a learnt piece, as in
/// transformers' assistant_masks. Throws BadRequest `WHERE: ...` if the text is not UTF-8.
[[nodiscard]] std::vector<LearntToken> learnt_tokens(Tokenizer& tokenizer,
                                                     const std::vector<ChatPiece>& pieces,
                                                     const std::string& where);

}  // namespace sluice::engine
