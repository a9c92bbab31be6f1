#include "engine/examples/answer_columns.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "engine/examples/example.hpp"
#include "engine/examples/message_reader.hpp"

namespace sluice::engine {
namespace {

using planner::DataFormat;
using Columns = std::vector<std::pair<std::string, std::string>>;

constexpr std::array kPromptNames = {"prompt",  "question", "instruction", "query",
                                     "problem", "input",    "user"};

/// A field's name as YAML has it in a map on one line.
std::string quoted_name(const std::string& name) {
  const auto plain = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
  };
  return !name.empty() && std::ranges::all_of(name, plain) ? name : Json(name).dump();
}

std::string map_text(const Columns& columns) {
  std::string text;
  for (const auto& [held, field] : columns) {
    text += (text.empty() ? "{" : ", ") + held + ": " + quoted_name(field);
  }
  return text + "}";
}

/// The first of the usual names of a prompt that the row has, besides `answer`; empty for none.
std::string prompt_field(const Json& row, const std::string& answer) {
  for (const char* name : kPromptNames) {
    if (name != answer && row.contains(name) && !row[name].is_null()) return name;
  }
  return {};
}

Json list_in_field(const Json& row, const std::string& field) {
  return field.empty() ? Json() : list_in(row[field]);
}

/// Whether a message is of a user, in either spelling.
bool is_question(const Json& message) {
  if (!message.is_object()) return false;
  for (const char* name : {"role", "from"}) {
    const auto role = message.find(name);
    if (role != message.end() && (*role == "user" || *role == "human")) return true;
  }
  return false;
}

/// Columns of an instruction, with what it is about where that stands beside it.
Columns instruction_columns(const Json& row, const std::string& prompt, const std::string& answer) {
  Columns columns = {{"prompt", prompt}};
  if (prompt != "input" && row.contains("input")) columns.emplace_back("query", "input");
  columns.emplace_back("response", answer);
  return columns;
}

}  // namespace

std::optional<std::string> columns_of_answer(const Json& row, const std::string& answer) {
  const Json& given = row.at(answer);
  const std::string prompt = prompt_field(row, answer);
  const Json messages = list_in(given);
  if (messages.is_array()) {
    if (messages.empty() || std::ranges::any_of(messages, is_question)) {
      return map_text({{"messages", answer}});
    }
    if (!list_in_field(row, prompt).is_array()) return std::nullopt;
    return map_text({{"prompt", prompt}, {"completion", answer}});
  }
  if (!given.is_string() || list_in_field(row, prompt).is_array()) return std::nullopt;
  if (!prompt.empty()) return map_text(instruction_columns(row, prompt, answer));
  // An answer beside turns is not the whole text.
  if (row.contains("messages") || row.contains("conversations")) return std::nullopt;
  return map_text({{"text", answer}});
}

std::string columns_of_row(const Json& row) {
  const auto format = guessed_format(row);
  if (!format) return "{prompt: NAME, response: NAME}";
  switch (format->kind) {
    case DataFormat::messages:
    case DataFormat::sharegpt:
      return map_text({{"messages", format->messages}});
    case DataFormat::alpaca:
      return map_text(instruction_columns(row, format->prompt, format->response));
    case DataFormat::prompt_completion:
      return map_text({{"prompt", format->prompt}, {"completion", format->completion}});
    default:
      return map_text({{"text", format->text}});
  }
}

}  // namespace sluice::engine
