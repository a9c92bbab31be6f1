// `sluice generate --chat` without a prompt: messages from stdin, each answered in its turn.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/forward/forward_subject.hpp"
#include "cli/forward/generate_request.hpp"
#include "engine/chat/chat_template.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace sluice::cli {

/// What a talk is held with; all of it must outlive the talk.
struct Talk {
  ForwardSubject& subject;
  const GenerateRequest& request;
  const engine::ChatTemplate& chat;
  engine::Tokenizer& tokenizer;
  const std::vector<std::int32_t>& ends;  ///< Tokens that end an answer.
};

/// Answers each line of stdin as the user's next message, with all turns before it, until the end
/// of stdin or /exit; /clear begins anew. On a terminal it asks for each line, and a fault of one
/// message does not end the talk; elsewhere it throws BadRequest. Where the turns no longer fit,
/// the first ones are left out, which is told. Returns the exit code.
int talk(const Talk& talk);

}  // namespace sluice::cli
