#include "cli/forward/chat_prompt.hpp"

#include <nlohmann/json.hpp>

#include "engine/examples/example_format.hpp"
#include "engine/examples/message_reader.hpp"
#include "engine/tokenizer/tokenizer_folder.hpp"
#include "sim/error.hpp"

namespace sluice::cli {

namespace {

using engine::Json;

/// Reads a message as the rows of data are read, so that an answer is asked for as it was learnt:
/// text parts joined, fields that are null left out. Roles stay as they are.
void append(const Json& message, const std::string& field, engine::Conversation& conversation) {
  const auto role = message.is_object() ? message.find("role") : message.end();
  if (role == message.end() || !role->is_string()) {
    throw BadRequest(field + ": must be an object with a role and a content");
  }
  engine::ExampleFormat format = engine::example_format(planner::DataFormat::messages);
  format.roles.emplace_back(role->get<std::string>(), role->get<std::string>());
  Json asked = message;
  asked["weight"] = 0;  // Nothing is learnt of it, so it may be empty.
  engine::append_message(asked, field, format, conversation);
}

/// JSON of the variables that the template gets beside the messages: the fields of `given`, in
/// which chat_template_kwargs is replaced by its own fields.
std::string variables_of(Json given) {
  if (given.contains("tools")) {
    constexpr bool kWraps = false;
    given["tools"] = engine::tools_of(given["tools"], "tools", kWraps);
    if (given["tools"].is_null()) given.erase("tools");
  }
  constexpr const char* kMore = "chat_template_kwargs";
  if (given.contains(kMore)) {
    const Json more = given[kMore];
    given.erase(kMore);
    if (!more.is_object() && !more.is_null()) engine::fault(kMore, "must be an object");
    for (const auto& [name, value] : more.items()) {
      if (!value.is_null()) given[name] = value;
    }
  }
  if (!engine::all_finite(given)) {
    throw engine::RowFault{{.reason = "holds NaN or Infinity, which no template can write"}};
  }
  return engine::json_text(given);
}

}  // namespace

engine::Conversation conversation_of(const std::string& json, const std::string& where) {
  engine::JsonRow read = engine::read_json_row(json);
  if (!read.fault.empty()) throw BadRequest(where + ": " + read.fault);
  Json given = std::move(*read.value);
  engine::Conversation conversation;
  try {
    if (given.is_object() && given.contains("messages")) {
      Json messages = engine::list_of(given["messages"], "messages");
      given.erase("messages");
      conversation.variables = variables_of(std::move(given));
      given = std::move(messages);
    }
    if (!given.is_array() || given.empty()) {
      throw BadRequest("must be a list of messages, or an object with messages");
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      append(given[i], "messages[" + std::to_string(i) + "]", conversation);
    }
  } catch (const engine::RowFault& fault) {
    throw BadRequest(where + ": " + fault.bad.reason);
  } catch (const BadRequest& error) {
    throw BadRequest(where + ": " + error.what());
  }
  return conversation;
}

engine::Conversation conversation_of(const GenerateRequest& request) {
  if (request.conversation) return conversation_of(request.prompt, *request.conversation);
  engine::Conversation conversation;
  conversation.messages.push_back(engine::chat_message("user", request.prompt));
  return conversation;
}

engine::ChatTemplate open_chat(const std::optional<std::filesystem::path>& folder,
                               const planner::RunConfig& config) {
  if (!folder ||
      !std::holds_alternative<engine::TokenizerFolder>(engine::find_tokenizer(*folder))) {
    throw BadRequest("--chat: needs the tokenizer of the model's folder, and " + config.model +
                     " has none: give a model folder, or leave --chat out");
  }
  return engine::chat_template_of(*folder, config.chat_template, config.date_string,
                                  config.data_reading);
}

}  // namespace sluice::cli
