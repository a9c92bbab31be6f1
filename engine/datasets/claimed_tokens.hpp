// Whether a model's tokenizer is what a training file of another program says of it.
#pragma once

#include "engine/chat/chat_template.hpp"
#include "engine/tokenizer/tokenizer_folder.hpp"
#include "planner/runs/tokenizer_claims.hpp"

namespace sluice::engine {

/// Throws BadRequests for everything that the tokenizer of a model's folder, or the chat template
/// `chat` of the run's conversations (null without any), has otherwise than `claims` state, each
/// with what to write. `texts`: whether some of the data are texts or completions, which end with
/// the tokenizer's own end of text; without them, the end of turns of the template may be the
/// stated eos_token instead.
void require_claims(const planner::TokenizerClaims& claims, const TokenizerFolder& tokenizer,
                    const ChatTemplate* chat, bool texts);

}  // namespace sluice::engine
