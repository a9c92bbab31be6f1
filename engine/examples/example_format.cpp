#include "engine/examples/example_format.hpp"

#include <algorithm>

namespace sluice::engine {
namespace {

using planner::DataFormat;
using Roles = std::vector<std::pair<std::string, std::string>>;

const Roles& roles_of_messages() {
  static const Roles kRoles = {{"user", "user"},           {"assistant", "assistant"},
                               {"system", "system"},       {"tool", "tool"},
                               {"developer", "developer"}, {"ipython", "ipython"}};
  return kRoles;
}

const Roles& roles_of_sharegpt() {
  static const Roles kRoles = {{"human", "user"},
                               {"user", "user"},
                               {"gpt", "assistant"},
                               {"assistant", "assistant"},
                               {"chatgpt", "assistant"},
                               {"model", "assistant"},
                               {"system", "system"},
                               {"observation", "tool"},
                               {"tool", "tool"},
                               {"tool_response", "tool"},
                               {"function_response", "tool"},
                               {"function_call", "function_call"},
                               {"tool_call", "function_call"}};
  return kRoles;
}

/// Whether a role is one of those that 0.1.0 refused: they are left out of a format's text, so that
/// data without them keep the hash that they had.
bool is_later_role(const std::pair<std::string, std::string>& role) {
  static const Roles kLater = {{"tool", "tool"},
                               {"developer", "developer"},
                               {"ipython", "ipython"},
                               {"chatgpt", "assistant"},
                               {"model", "assistant"},
                               {"observation", "tool"},
                               {"tool_response", "tool"},
                               {"function_response", "tool"},
                               {"function_call", "function_call"},
                               {"tool_call", "function_call"}};
  return std::ranges::find(kLater, role) != kLater.end();
}

}  // namespace

std::string ExampleFormat::canonical() const {
  std::string out = planner::to_string(kind);
  for (const std::string* name :
       {&text, &prompt, &query, &response, &history, &system, &messages, &role, &content}) {
    out.append("\n").append(*name);
  }
  for (const auto& role_pair : roles) {
    if (is_later_role(role_pair)) continue;
    out.append("\n").append(role_pair.second + " " + role_pair.first);
  }
  if (kind == DataFormat::prompt_completion) out.append("\n").append(completion);
  if (!tools.empty() && tools != "tools") out.append("\ntools ").append(tools);
  if (!learnt.empty()) out.append("\nlearnt ").append(learnt);
  if (only_marked) out.append("\nonly_marked");
  return out + (lists ? "\nlists" : "");
}

ExampleFormat example_format(DataFormat kind) {
  ExampleFormat format;
  format.kind = kind;
  format.roles = kind == DataFormat::sharegpt ? roles_of_sharegpt() : roles_of_messages();
  if (kind == DataFormat::sharegpt) {
    format.messages = "conversations";
    format.role = "from";
    format.content = "value";
  }
  if (kind == DataFormat::prompt_completion) format.prompt = "prompt";
  return format;
}

ExampleFormat with_names(ExampleFormat format, const std::map<std::string, std::string>& columns,
                         const std::map<std::string, std::string>& roles) {
  const std::map<std::string, std::string*> names = {
      {"text", &format.text},         {"prompt", &format.prompt},
      {"query", &format.query},       {"response", &format.response},
      {"history", &format.history},   {"completion", &format.completion},
      {"system", &format.system},     {"tools", &format.tools},
      {"messages", &format.messages}, {"role", &format.role},
      {"content", &format.content},   {"learnt", &format.learnt}};
  const auto of_rows = [](const std::string& held) {
    return held != "role" && held != "content" && held != "learnt";
  };
  for (const auto& [held, field] : columns) {
    const auto known = names.find(held);
    if (known == names.end()) continue;  // data_columns() was checked where they were read.
    *known->second = field;
    format.stated[held] = field;
    format.named = format.named || of_rows(held);
  }
  for (const auto& [word, meant] : roles) {
    std::erase_if(format.roles, [&word = word](const auto& each) { return each.first == word; });
    format.roles.emplace_back(word, meant);
  }
  return format;
}

std::optional<DataFormat> kind_of_columns(const std::map<std::string, std::string>& columns) {
  const auto has = [&columns](const char* held) { return columns.contains(held); };
  if (has("messages")) return DataFormat::messages;
  if (has("completion")) return DataFormat::prompt_completion;
  if (has("response")) return DataFormat::alpaca;
  if (has("text") || has("prompt")) return DataFormat::jsonl;
  return std::nullopt;
}

}  // namespace sluice::engine
