// A conversation, the input of a chat template.
#pragma once

#include <string>
#include <vector>

namespace sluice::engine {

/// One turn of a conversation, with all fields that the data give it.
struct ChatMessage {
  /// The turn as a template sees it, as the text of one JSON object: "role", "content" and all else
  /// that the data have (tool_calls, reasoning_content, name, ...) in the file's order. Roles are
  /// the words that templates know: system, user, assistant, tool, developer.
  std::string fields;
  /// Whether this turn is learnt if it is the assistant's; turns of other roles never are.
  bool learnt = true;
};

/// A conversation: its turns in order, and what a template sees beside them.
struct Conversation {
  std::vector<ChatMessage> messages;
  /// Variables that the template sees besides the messages (tools, documents, entries of
  /// chat_template_kwargs), as the text of one JSON object.
  std::string variables = "{}";
};

/// A turn that consists of a role and a text. Throws BadRequest if the text is not UTF-8.
[[nodiscard]] ChatMessage chat_message(const std::string& role, const std::string& content,
                                       bool learnt = true);

}  // namespace sluice::engine
