#include "engine/datasets/example_format.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;
using planner::DataFormat;

/// Whether a role of ShareGPT's or OpenAI's messages belongs to tools.
bool is_of_tools(const std::string& role) {
  for (const char* each : {"tool", "function", "function_call", "observation", "ipython"}) {
    if (role == each) return true;
  }
  return false;
}

/// Reads the fields of one example; every refusal names the place and the field.
class ExampleFields {
 public:
  ExampleFields(const json& object, const ExampleFormat& format, const std::string& where)
      : object_(object), format_(format), where_(where) {}

  [[nodiscard]] std::string text() const { return required(object_, format_.text, format_.text); }

  [[nodiscard]] Conversation alpaca() const {
    Conversation out = system_message();
    if (const json* turns = present(format_.history)) append_history(*turns, out);
    std::string prompt = required(object_, format_.prompt, format_.prompt);
    const std::string query = optional(format_.query);
    if (!query.empty()) prompt.append(prompt.empty() ? "" : "\n").append(query);
    if (prompt.empty()) refuse(format_.prompt, "is empty");
    out.push_back({Speaker::user, std::move(prompt)});
    out.push_back({Speaker::assistant, answer(object_, format_.response, format_.response)});
    return out;
  }

  [[nodiscard]] Conversation messages() const {
    for (const char* other : {"tools", "images", "videos", "audios"}) {
      const json* found = present(other);
      if (found != nullptr && !found->empty()) refuse(other, "is not supported: leave it out");
    }
    Conversation out = system_message();
    const json* list = present(format_.messages);
    if (list == nullptr || !list->is_array()) {
      refuse(format_.messages, list == nullptr ? "is missing" : "must be a list of messages");
    }
    for (std::size_t i = 0; i < list->size(); ++i) append_message((*list)[i], i, out);
    const bool answered = std::ranges::any_of(
        out, [](const ChatMessage& each) { return each.speaker == Speaker::assistant; });
    if (!answered) refuse(format_.messages, "has no message of the assistant to learn");
    return out;
  }

 private:
  [[nodiscard]] const json* present(const std::string& field) const {
    if (field.empty()) return nullptr;
    const auto found = object_.find(field);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  [[nodiscard]] std::string optional(const std::string& field) const {
    const json* found = present(field);
    if (found == nullptr) return {};
    if (!found->is_string()) refuse(field, "must be text");
    return found->get<std::string>();
  }

  [[nodiscard]] std::string required(const json& object, const std::string& key,
                                     const std::string& field) const {
    const auto found = object.find(key);
    if (found == object.end()) refuse(field, "is missing");
    if (!found->is_string()) refuse(field, "must be text");
    return found->get<std::string>();
  }

  [[nodiscard]] std::string answer(const json& object, const std::string& key,
                                   const std::string& field) const {
    std::string text = required(object, key, field);
    if (text.empty()) refuse(field, "is empty: there is nothing to learn");
    return text;
  }

  [[nodiscard]] Conversation system_message() const {
    std::string text = optional(format_.system);
    if (text.empty()) return {};
    return {{Speaker::system, std::move(text)}};
  }

  void append_history(const json& turns, Conversation& out) const {
    if (!turns.is_array()) refuse(format_.history, "must be a list of [question, answer] pairs");
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const std::string field = format_.history + "[" + std::to_string(i) + "]";
      const json& turn = turns[i];
      if (!turn.is_array() || turn.size() != 2 || !turn[0].is_string() || !turn[1].is_string()) {
        refuse(field, "must be a [question, answer] pair of texts");
      }
      out.push_back({Speaker::user, turn[0].get<std::string>()});
      out.push_back({Speaker::assistant, turn[1].get<std::string>()});
    }
  }

  void append_message(const json& message, std::size_t index, Conversation& out) const {
    const std::string field = format_.messages + "[" + std::to_string(index) + "]";
    if (!message.is_object()) refuse(field, "must be an object");
    const std::string role_field = field + "." + format_.role;
    const std::string role = required(message, format_.role, role_field);
    const auto known =
        std::ranges::find(format_.speakers, role, &std::pair<std::string, Speaker>::first);
    if (known == format_.speakers.end() && is_of_tools(role)) {
      refuse(role_field, "\"" + role +
                             "\": calls of tools and what they returned are not supported: leave "
                             "the example out");
    }
    if (known == format_.speakers.end()) {
      refuse(role_field, "\"" + role + "\" is not one of " + role_names());
    }
    if (known->second == Speaker::system && !out.empty()) {
      refuse(role_field, "a system message may only come first");
    }
    const auto calls = message.find("tool_calls");
    if (calls != message.end() && !calls->is_null() && !calls->empty()) {
      refuse(field + ".tool_calls",
             "calls of tools and what they returned are not supported: leave the example out");
    }
    const std::string content_field = field + "." + format_.content;
    const bool learnt = known->second == Speaker::assistant;
    out.push_back({known->second, learnt ? answer(message, format_.content, content_field)
                                         : required(message, format_.content, content_field)});
  }

  [[nodiscard]] std::string role_names() const {
    std::string all;
    for (const auto& [name, speaker] : format_.speakers) {
      all.append(all.empty() ? "" : ", ").append(name);
    }
    return all;
  }

  [[noreturn]] void refuse(const std::string& field, const std::string& reason) const {
    throw BadRequest(where_ + ": " + field + ": " + reason);
  }

  const json& object_;
  const ExampleFormat& format_;
  const std::string& where_;
};

}  // namespace

const char* to_string(Speaker speaker) {
  switch (speaker) {
    case Speaker::system:
      return "system";
    case Speaker::user:
      return "user";
    case Speaker::assistant:
      return "assistant";
  }
  return "";
}

std::string ExampleFormat::canonical() const {
  std::string out = planner::to_string(kind);
  for (const std::string* name :
       {&text, &prompt, &query, &response, &history, &system, &messages, &role, &content}) {
    out.append("\n").append(*name);
  }
  for (const auto& [name, speaker] : speakers) {
    out.append("\n").append(to_string(speaker)).append(" ").append(name);
  }
  return out;
}

ExampleFormat example_format(DataFormat kind) {
  ExampleFormat format;
  format.kind = kind;
  if (kind == DataFormat::sharegpt) {
    format.messages = "conversations";
    format.role = "from";
    format.content = "value";
    format.speakers = {{"human", Speaker::user},
                       {"user", Speaker::user},
                       {"gpt", Speaker::assistant},
                       {"assistant", Speaker::assistant},
                       {"system", Speaker::system}};
  } else {
    format.speakers = {
        {"user", Speaker::user}, {"assistant", Speaker::assistant}, {"system", Speaker::system}};
  }
  return format;
}

Example read_example(const json& object, const ExampleFormat& format, const std::string& where) {
  const ExampleFields fields(object, format, where);
  switch (format.kind) {
    case DataFormat::jsonl:
      return fields.text();
    case DataFormat::alpaca:
      return fields.alpaca();
    case DataFormat::sharegpt:
    case DataFormat::messages:
      return fields.messages();
    case DataFormat::automatic:
    case DataFormat::text:
    case DataFormat::bytes:
      break;
  }
  throw BadRequest(where + ": the format has no examples");
}

}  // namespace sluice::engine
