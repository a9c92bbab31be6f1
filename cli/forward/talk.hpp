// `sluice generate --chat` without a prompt: messages from stdin, each answered in its turn.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/forward/forward_subject.hpp"
#include "cli/forward/generate_request.hpp"
#include "engine/chat/chat_template.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace sluice::cli {

/// Model, request and texts of a conversation on the standard input; all must outlive talk().
struct Talk {
  ForwardSubject& subject;
  const GenerateRequest& request;
  const engine::ChatTemplate& chat;
  engine::Tokenizer& tokenizer;
  const std::vector<std::int32_t>& ends;  ///< Tokens that end an answer.
};

/// Holds a conversation: answers each line of stdin as the user's next message, with all turns
/// before it. It lasts until stdin ends or a line is /exit; the line /clear begins a new one. On a
/// terminal each line is asked for, and a message that is refused does not end the conversation;
/// elsewhere the refusal is thrown as BadRequest. Where the turns no longer fit the context, the
/// first ones are left out, with a warning. Returns the exit code.
int talk(const Talk& talk);

}  // namespace sluice::cli
