// A conversation: what a chat template renders.
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

/// A system message may come first and nowhere else; one of the others is the assistant's.
using Conversation = std::vector<ChatMessage>;

}  // namespace sluice::engine
