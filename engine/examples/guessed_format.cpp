// Format of a data set whose owner states none.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/examples/example.hpp"
#include "engine/examples/message_reader.hpp"
#include "engine/rows/split_names.hpp"

namespace sluice::engine {
namespace {

using planner::DataFormat;

/// The list that a field holds, also as JSON text, as CSV files have it; null for none.
Json list_at(const Json& row, const std::string& field) {
  const auto found = row.find(field);
  return found == row.end() ? Json() : list_in(*found);
}

/// The field of the first of `names` that the row has, in letters of either case; empty for none.
template <std::size_t kSize>
std::string first_of(const Json& row, const std::array<const char*, kSize>& names) {
  for (const char* name : names) {
    if (row.contains(name)) return name;
  }
  for (const char* name : names) {
    for (const auto& [field, value] : row.items()) {
      if (in_lower_case(field) == name) return field;
    }
  }
  return {};
}

/// The first field that would be known without the spaces around its name, as a CSV header "prompt,
/// completion" has it.
std::optional<std::string> spaced_name(const Json& row) {
  constexpr std::array kKnown = {"text",   "messages", "conversations", "instruction",
                                 "output", "prompt",   "completion"};
  for (const auto& [name, value] : row.items()) {
    const std::size_t first = std::min(name.find_first_not_of(' '), name.size());
    const std::string bare = name.substr(first, name.find_last_not_of(' ') + 1 - first);
    if (bare != name && std::ranges::find(kKnown, bare) != kKnown.end()) return name;
  }
  return std::nullopt;
}

/// The field that holds turns under a name of its own; empty for none.
std::string list_of_turns(const Json& row) {
  for (const auto& [name, value] : row.items()) {
    const Json list = list_in(value);
    if (!list.is_array() || list.empty() || !list.front().is_object()) continue;
    if (list.front().contains("role") || list.front().contains("from")) return name;
  }
  return {};
}

/// Whether a row is one turn of a conversation.
bool is_turn(const Json& row) {
  return (row.contains("role") && row.contains("content")) ||
         (row.contains("from") && row.contains("value"));
}

}  // namespace

std::optional<ExampleFormat> guessed_format(const Json& row) {
  for (const char* field : {"messages", "conversations"}) {
    const Json list = list_at(row, field);
    if (!list.is_array()) continue;
    const bool empty = list.empty() || !list.front().is_object();
    // A turn without either of the two fields is a fault of that row, whatever the others are.
    const bool unclear = empty || list.front().contains("role") == list.front().contains("from");
    const bool openai = unclear ? std::string(field) == "messages" : list.front().contains("role");
    ExampleFormat format = example_format(openai ? DataFormat::messages : DataFormat::sharegpt);
    format.messages = field;
    return format;
  }
  if (row.contains("instruction") && row.contains("output")) {
    return example_format(DataFormat::alpaca);
  }
  if (row.contains("prompt") && row.contains("completion")) {
    return settled_format(example_format(DataFormat::prompt_completion), row, false);
  }
  if (row.contains("text")) return example_format(DataFormat::jsonl);
  if (row.contains("messages")) return example_format(DataFormat::messages);
  return std::nullopt;
}

ExampleFormat settled_format(ExampleFormat format, const Json& row, bool open) {
  if (format.kind == DataFormat::prompt_completion) {
    format.lists = list_at(row, format.prompt).is_array();
  }
  if (format.kind != DataFormat::messages || !open) return format;
  const Json list = list_at(row, format.messages);
  const bool sharegpt = list.is_array() && !list.empty() && list.front().is_object() &&
                        !list.front().contains("role") && list.front().contains("from");
  if (!sharegpt) return format;
  const std::string field = format.messages;
  ExampleFormat other = example_format(DataFormat::sharegpt);
  other.messages = field;
  other.learnt = format.learnt;
  other.named = format.named;
  other.stated = format.stated;
  return other;
}

std::string advice_on_fields(const Json& row) {
  if (is_turn(row)) {
    return "is one message of a conversation, and a row is a whole one: write the list of its "
           "messages as {\"messages\": [...]}";
  }
  constexpr std::size_t kMostShown = 20;
  std::string fields;
  std::size_t shown = 0;
  for (const auto& [name, value] : row.items()) {
    if (shown++ == kMostShown) {
      fields += ", ...";
      break;
    }
    fields.append(fields.empty() ? "" : ", ").append(name.empty() ? "\"\"" : name.substr(0, 40));
  }
  constexpr std::array kPrompts = {"question", "prompt", "instruction", "query",
                                   "problem",  "input",  "inputs",      "user"};
  constexpr std::array kResponses = {"answer",    "response", "output",  "completion", "solution",
                                     "assistant", "target",   "targets", "chosen"};
  constexpr std::array kTexts = {"content",  "prompt", "article", "body",
                                 "document", "code",   "markdown"};
  // What a question is asked about stands beside it.
  constexpr std::array kQueries = {"input", "context"};
  std::string prompt = first_of(row, kPrompts);
  std::string response = first_of(row, kResponses);
  std::string example = "{prompt: NAME, response: NAME}";
  const std::string query = prompt == "input" ? "" : first_of(row, kQueries);
  if (const auto spaced = spaced_name(row)) {
    return "its field \"" + *spaced +
           "\" begins or ends with a space: take the spaces out of the names, or write rows as "
           "JSON "
           "lines";
  }
  if (const std::string turns = list_of_turns(row); !turns.empty()) {
    example = "{messages: " + turns + "}";
  } else if (!prompt.empty() && !response.empty()) {
    example = "{prompt: " + prompt + (query.empty() ? "" : ", query: " + query) +
              ", response: " + response + "}";
  } else if (const std::string text = first_of(row, kTexts); !text.empty()) {
    example = "{text: " + text + "}";
  }
  return "its fields are " + (fields.empty() ? "none" : fields) +
         ", and a format is known by text, messages, conversations, instruction and output, or "
         "prompt and completion: name them, such as columns: " +
         example + ", or learn the file as it stands with data_format: text";
}

}  // namespace sluice::engine
