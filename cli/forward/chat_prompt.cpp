#include "cli/forward/chat_prompt.hpp"

#include <nlohmann/json.hpp>

#include "engine/chat/chat_template.hpp"
#include "engine/tokenizer/tokenizer_folder.hpp"
#include "sim/error.hpp"

namespace sluice::cli {

engine::Conversation conversation_of(const std::string& json, const std::string& where) {
  using nlohmann::ordered_json;
  ordered_json given = ordered_json::parse(json, nullptr, false);
  if (given.is_discarded()) throw BadRequest(where + ": is not JSON");
  engine::Conversation conversation;
  if (given.is_object() && given.contains("messages")) {
    ordered_json messages = given["messages"];
    given.erase("messages");
    conversation.variables = given.dump();
    given = std::move(messages);
  }
  if (!given.is_array() || given.empty()) {
    throw BadRequest(where + ": must be a list of messages, or an object with messages");
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const ordered_json& message = given[i];
    const auto role = message.is_object() ? message.find("role") : message.end();
    if (role == message.end() || !role->is_string()) {
      throw BadRequest(where + ": messages[" + std::to_string(i) +
                       "]: must be an object with a role and a content");
    }
    conversation.messages.push_back({.fields = message.dump()});
  }
  return conversation;
}

ChatPrompt chat_prompt(const GenerateRequest& request,
                       const std::optional<std::filesystem::path>& folder,
                       const planner::RunConfig& config) {
  if (!folder ||
      !std::holds_alternative<engine::TokenizerFolder>(engine::find_tokenizer(*folder))) {
    throw BadRequest("--chat: needs the tokenizer of the model's folder, and " + config.model +
                     " has none: give a model folder, or leave --chat out");
  }
  const engine::ChatTemplate chat =
      engine::chat_template_of(*folder, config.chat_template, config.date_string);
  engine::Conversation conversation;
  if (request.conversation) {
    conversation = conversation_of(request.prompt, *request.conversation);
  } else {
    conversation.messages.push_back(engine::chat_message("user", request.prompt));
  }
  return {.text = chat.render_prompt(conversation), .turn_end = chat.turn_end()};
}

}  // namespace sluice::cli
