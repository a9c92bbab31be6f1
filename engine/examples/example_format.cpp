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

/// Kind and names of a format, which are hashed as they were in 0.1.0.
std::string canonical_names(const ExampleFormat& format) {
  std::string out = planner::to_string(format.kind);
  for (const std::string* name :
       {&format.text, &format.prompt, &format.query, &format.response, &format.history,
        &format.system, &format.messages, &format.role, &format.content}) {
    out.append("\n").append(*name);
  }
  return out;
}

}  // namespace

std::string ExampleFormat::canonical_of_0_1_0() const {
  std::string out = canonical_names(*this);
  const bool usual = roles == roles_of_sharegpt() || roles == roles_of_messages();
  for (const auto& [word, meant] : roles) {
    const bool speaks = meant == "user" || meant == "assistant" || meant == "system";
    const bool known = !usual || (word != "chatgpt" && word != "model");
    if (speaks && known) out.append("\n").append(meant + " " + word);
  }
  return out;
}

std::string ExampleFormat::canonical() const {
  std::string out = canonical_names(*this);
  if (kind == DataFormat::jsonl) return out + "\nuser user\nassistant assistant\nsystem system";
  for (const auto& [word, meant] : roles) out.append("\n").append(meant + " " + word);
  for (const std::string* name : {&completion, &tools, &learnt}) out.append("\n").append(*name);
  return out + (lists ? "\nlists" : "") + (named ? "\nnamed" : "");
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
