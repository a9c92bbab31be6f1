// A conversation, the input of a chat template.
#pragma once

#include <string>
#include <vector>

namespace sluice::engine {

enum class Speaker { system, user, assistant };
const char* to_string(Speaker speaker);

struct ChatMessage {
  Speaker speaker = Speaker::user;
  std::string text;
};

/// Messages in order. Only the first may be a system message, and at least one must be the
/// assistant's.
using Conversation = std::vector<ChatMessage>;

}  // namespace sluice::engine
