#include "engine/examples/message_reader.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/examples/row_marks.hpp"

namespace sluice::engine {
namespace {

/// Fields of a turn that may say that it is not learnt, or that it is: programs differ.
constexpr std::array kUnclear = {"mask", "masked", "is_masked", "ignore", "ignored"};
/// Fields of a turn that mask parts of it, which is not done.
constexpr std::array kPartMasks = {"train_detail", "training_detail", "loss_scale"};
/// Fields of a turn that hold thoughts; an answer may consist of them.
constexpr std::array kThoughts = {"reasoning_content", "reasoning", "thinking", "thought"};

bool has_filled(const Json& message, const char* field) {
  const auto found = message.find(field);
  return found != message.end() && !found->is_null() && !found->empty() &&
         !(found->is_string() && found->get_ref<const std::string&>().empty());
}

/// Value of a mask; none where it is null.
std::optional<bool> mask_value(const Json& value, const std::string& field) {
  if (value.is_null()) return std::nullopt;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) {
    const double weight = value.get<double>();
    if (weight == 0 || weight == 1) return weight == 1;
    fault_of_file(field, value.dump() + ": parts of a weight are not done here: write 0 or 1");
  }
  fault_of_file(field, value.is_array() ? "masks of single tokens are not done here: write 0 or 1"
                                        : "must be true or false, or 1 or 0");
}

/// Whether the turn is learnt, as its masks say.
bool learnt_of(const Json& message, const std::string& field, const std::string& role,
               const ExampleFormat& format) {
  bool learnt = true;
  bool marked = !format.only_marked;
  for (const auto& [name, value] : message.items()) {
    const bool of_parts = std::ranges::find(kPartMasks, name) != kPartMasks.end();
    if (of_parts && !value.is_null()) {
      fault_of_file(field + "." + name, "masks of a turn's parts are not done here");
    }
    const bool unclear = std::ranges::find(kUnclear, name) != kUnclear.end();
    if (unclear && name != format.learnt && !value.is_null()) {
      fault_of_file(field + "." + name,
                    "does not say whether 1 is learnt or left out: write \"train\": true or false");
    }
    if (!is_mark(name, format)) continue;
    const auto says = mask_value(value, field + "." + name);
    if (!says) continue;
    learnt = learnt && *says;
    marked = marked || (*says && name == format.learnt);
    // A weight of 1 is what every turn has; to train a question is asked for by the other names.
    if (*says && role != "assistant" && name != "weight") {
      fault_of_file(field + "." + name, "asks to learn a turn of the " + role +
                                            ", and only the assistant's are learnt: write false");
    }
  }
  return learnt && marked;
}

std::string role_names(const ExampleFormat& format) {
  std::string all;
  for (const auto& [word, meant] : format.roles) {
    all.append(all.empty() ? "" : ", ").append(word);
  }
  return all;
}

std::string role_of(const Json& message, const std::string& field, const ExampleFormat& format) {
  const std::string role_field = field + "." + format.role;
  const auto found = message.find(format.role);
  if (found == message.end() || found->is_null()) fault(role_field, "is missing");
  if (!found->is_string()) fault(role_field, "must be text");
  const auto& word = found->get_ref<const std::string&>();
  for (const auto& [known, meant] : format.roles) {
    if (known == word) return meant;
  }
  fault(role_field, "\"" + word.substr(0, 40) + "\" is not one of " + role_names(format) +
                        ": say what it means in the data set's roles, such as {bot: assistant}");
}

/// The text of one part of a content, if the part is a text.
std::optional<std::string> text_of_part(const Json& part) {
  if (part.is_string()) return part.get<std::string>();
  if (!part.is_object()) return std::nullopt;
  const auto type = part.find("type");
  const bool has_type = type != part.end() && type->is_string();
  if (has_type && *type != "text" && *type != "input_text" && *type != "output_text") {
    return std::nullopt;
  }
  for (const char* field : {"text", "value", "content"}) {
    const auto found = part.find(field);
    if (found != part.end() && found->is_string()) return found->get<std::string>();
  }
  return std::nullopt;
}

std::string type_of_part(const Json& part) {
  if (!part.is_object()) return part.type_name();
  const auto type = part.find("type");
  return type != part.end() && type->is_string() ? type->get<std::string>().substr(0, 40)
                                                 : "object without a type";
}

/// A call of a tool as a template sees it, from {"name", "arguments"} or the whole.
Json wrapped_call(const Json& call, const std::string& field) {
  if (!call.is_object()) fault(field, "must be a call {\"name\": ..., \"arguments\": ...}");
  if (call.contains("function")) return call;
  if (!call.contains("name")) fault(field, "must be a call {\"name\": ..., \"arguments\": ...}");
  return Json{{"type", "function"}, {"function", call}};
}

/// The calls that a text holds as JSON: one or a list of them.
Json calls_in(const std::string& text, const std::string& field) {
  JsonRow read = read_json_row(text);
  if (!read.fault.empty()) fault(field, "must be a call of a tool as JSON");
  Json calls = Json::array();
  if (!read.value->is_array()) {
    calls.push_back(wrapped_call(*read.value, field));
    return calls;
  }
  for (const Json& call : *read.value) calls.push_back(wrapped_call(call, field));
  return calls;
}

/// A turn in the making: the fields that a template will see.
class Turn {
 public:
  Turn(const Json& message, const std::string& field, const ExampleFormat& format)
      : message_(message), field_(field), format_(format) {}

  [[nodiscard]] ChatMessage made() {
    std::string role = role_of(message_, field_, format_);
    const bool is_call = role == "function_call";
    if (is_call) role = "assistant";
    const bool learnt = learnt_of(message_, field_, role, format_);
    seen_["role"] = role;
    seen_["content"] = content(role);
    add_others();
    if (is_call) take_call();
    if (role == "assistant" && learnt) require_answer();
    if (!all_finite(seen_)) fault(field_, "holds NaN or Infinity, which no template can write");
    return {.fields = json_text(seen_), .learnt = learnt};
  }

 private:
  [[nodiscard]] std::string content_field() const { return field_ + "." + format_.content; }

  [[nodiscard]] bool calls_tools() const { return has_filled(message_, "tool_calls"); }

  Json content(const std::string& role) {
    const auto found = message_.find(format_.content);
    const bool none = found == message_.end() || found->is_null();
    if (none && role == "assistant" && (calls_tools() || thinks())) return nullptr;
    if (found == message_.end()) fault(content_field(), "is missing");
    if (none) fault(content_field(), "is null");
    if (!found->is_array()) return text_of_parts(*found, content_field());
    std::string text;
    for (std::size_t i = 0; i < found->size(); ++i) {
      const Json& part = (*found)[i];
      const std::string part_field = content_field() + "[" + std::to_string(i) + "]";
      if (const auto piece = text_of_part(part)) {
        text += *piece;
      } else if (!take_other_part(part, part_field, role)) {
        fault(part_field, "a part of type " + type_of_part(part) + ": text alone is read");
      }
    }
    return text;
  }

  /// Takes the parts of an answer that LLaMA-Factory's later format has: thoughts and calls.
  bool take_other_part(const Json& part, const std::string& field, const std::string& role) {
    if (role != "assistant" || !part.is_object()) return false;
    const std::string type = type_of_part(part);
    const auto value = part.find("value");
    if (value == part.end() || !value->is_string()) return false;
    if (type == "reasoning") {
      thoughts_ += value->get<std::string>();
      return true;
    }
    if (type != "tool_call" && type != "function") return false;
    for (Json& call : calls_in(value->get<std::string>(), field)) calls_.push_back(std::move(call));
    return true;
  }

  [[nodiscard]] bool thinks() const {
    return std::ranges::any_of(kThoughts,
                               [this](const char* each) { return has_filled(message_, each); });
  }

  /// Copies what else the turn has: all but its masks and what is null, which Arrow writes for a
  /// field that only other turns have.
  void add_others() {
    for (const auto& [name, value] : message_.items()) {
      if (name == format_.role || name == format_.content || is_mark(name, format_)) continue;
      if (value.is_null()) continue;
      if (name == "function_call") {
        fault(field_ + ".function_call", "is OpenAI's older form: write tool_calls");
      }
      if (name == "tool_calls" && !value.is_array()) {
        fault(field_ + ".tool_calls", "must be a list of calls");
      }
      if (name == "tool_calls" && value.empty()) continue;
      if (name == "role" || name == "content") continue;  // Named otherwise in this data.
      seen_[name] = value;
    }
    if (!thoughts_.empty()) seen_["reasoning_content"] = thoughts_;
    if (!calls_.empty()) seen_["tool_calls"] = calls_;
  }

  /// Turns the text of a function_call turn into the call that it is.
  void take_call() {
    if (!seen_["content"].is_string()) fault(content_field(), "must be a call of a tool as JSON");
    seen_["tool_calls"] = calls_in(seen_["content"].get<std::string>(), content_field());
    seen_["content"] = "";
  }

  void require_answer() {
    const Json& text = seen_["content"];
    const bool says = text.is_string() && !text.get_ref<const std::string&>().empty();
    const bool thinks = std::ranges::any_of(
        kThoughts, [this](const char* each) { return has_filled(seen_, each); });
    if (!says && !thinks && !has_filled(seen_, "tool_calls")) fault(content_field(), "is empty");
  }

  const Json& message_;
  const std::string& field_;
  const ExampleFormat& format_;
  Json seen_ = Json::object();
  std::string thoughts_;
  Json calls_ = Json::array();
};

}  // namespace

std::string text_of_parts(const Json& value, const std::string& field) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) {
    fault(field, value.is_number_float() && !all_finite(value) ? "must be text, and is NaN"
                                                               : "must be text");
  }
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto piece = text_of_part(value[i]);
    if (!piece) {
      fault(field + "[" + std::to_string(i) + "]",
            "a part of type " + type_of_part(value[i]) + ": text alone is read");
    }
    text += *piece;
  }
  return text;
}

void append_message(const Json& message, const std::string& field, const ExampleFormat& format,
                    Conversation& conversation) {
  if (!message.is_object()) fault(field, "must be an object");
  conversation.messages.push_back(Turn(message, field, format).made());
}

Json list_in(const Json& value) {
  if (value.is_array()) return value;
  if (!value.is_string() || !value.get_ref<const std::string&>().starts_with('[')) return nullptr;
  JsonRow read = read_json_row(value.get_ref<const std::string&>());
  return read.fault.empty() && read.value->is_array() ? std::move(*read.value) : Json();
}

Json list_of(const Json& value, const std::string& field) {
  Json list = list_in(value);
  if (!list.is_array() && value.is_string() &&
      value.get_ref<const std::string&>().starts_with("[{'")) {
    fault(field, "is Python's text of a list, not JSON: write it with json.dumps");
  }
  if (!list.is_array()) fault(field, "must be a list of messages");
  return list;
}

Json tools_of(const Json& value, const std::string& field, bool wraps) {
  Json tools = value;
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) return nullptr;
    JsonRow read = read_json_row(text);
    if (!read.fault.empty()) fault(field, "must be a list of tools, or its JSON text");
    tools = std::move(*read.value);
  }
  if (tools.is_null() || (tools.is_array() && tools.empty())) return nullptr;
  if (!tools.is_array()) fault(field, "must be a list of tools, or its JSON text");
  for (Json& tool : tools) {
    if (!tool.is_object()) fault(field, "must be a list of objects");
    if (wraps && !tool.contains("function") && tool.contains("name")) {
      tool = Json{{"type", "function"}, {"function", tool}};
    }
  }
  if (!all_finite(tools)) fault(field, "holds NaN or Infinity, which no template can write");
  return tools;
}

}  // namespace sluice::engine
