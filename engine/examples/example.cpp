#include "engine/examples/example.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/examples/column_table.hpp"
#include "engine/examples/message_reader.hpp"
#include "engine/examples/row_marks.hpp"

namespace sluice::engine {
namespace {

using planner::DataFormat;

/// Reads the fields of one row; every fault names its field.
class ExampleFields {
 public:
  ExampleFields(const Json& row, const ExampleFormat& format) : row_(row), format_(format) {}

  [[nodiscard]] Example text() const {
    refuse_marked();
    std::string text = required(format_.text);
    refuse_other_media(text);
    return text;
  }

  [[nodiscard]] Example alpaca() const {
    refuse_other_kinds();
    refuse_other_media();
    if (const Json* answers = present(format_.response); answers && answers->is_array()) {
      const bool parts = std::ranges::all_of(*answers, [](const Json& e) { return e.is_object(); });
      if (!parts) {
        fault_of_file(format_.response,
                      "is a list of answers: preference data, which no method "
                      "here learns from: give one answer a row");
      }
    }
    Conversation out = beginning();
    if (const Json* turns = present(format_.history)) append_history(*turns, out);
    std::string prompt = required(format_.prompt);
    const std::string query = optional(format_.query);
    if (!query.empty()) prompt.append(prompt.empty() ? "" : "\n").append(query);
    if (prompt.empty()) fault(format_.prompt, "is empty");
    out.messages.push_back(chat_message("user", prompt));
    out.messages.push_back(chat_message("assistant", answer(format_.response)));
    return out;
  }

  [[nodiscard]] Example messages() const {
    refuse_other_kinds();
    refuse_other_media();
    Conversation out = beginning();
    append_list(format_.messages, out);
    require_answer(format_.messages, out);
    return out;
  }

  [[nodiscard]] Example prompt_completion() const {
    refuse_other_kinds();
    refuse_other_media();
    const Json* prompt = present(format_.prompt);
    const Json* completion = present(format_.completion);
    if (prompt == nullptr) fault(format_.prompt, "is missing");
    if (completion == nullptr) fault(format_.completion, "is missing");
    if (!format_.lists) {
      if (prompt->is_array() && completion->is_array()) {
        fault(format_.prompt, "is a list of messages, and the first row has a text");
      }
      refuse_parts_of_conversations();
      return PromptAndCompletion{.prompt = required(format_.prompt),
                                 .completion = answer(format_.completion)};
    }
    Conversation out = beginning();
    append_list(format_.prompt, out);
    for (ChatMessage& message : out.messages) message.learnt = false;
    append_list(format_.completion, out);
    require_answer(format_.completion, out);
    return out;
  }

 private:
  [[nodiscard]] const Json* present(const std::string& field) const {
    if (field.empty()) return nullptr;
    const auto found = row_.find(field);
    return found == row_.end() || found->is_null() ? nullptr : &*found;
  }

  [[nodiscard]] std::string optional(const std::string& field) const {
    const Json* found = present(field);
    return found == nullptr ? std::string() : text_of_parts(*found, field);
  }

  [[nodiscard]] std::string required(const std::string& field) const {
    const auto found = row_.find(field);
    if (found == row_.end()) fault(field, "is missing");
    if (found->is_null()) fault(field, "is null");
    return text_of_parts(*found, field);
  }

  [[nodiscard]] std::string answer(const std::string& field) const {
    std::string text = required(field);
    if (text.empty()) fault(field, "is empty");
    return text;
  }

  /// Refuses what the row's own marks leave out: they hold however its fields were named.
  void refuse_marked() const {
    if (auto marked = marked_row(row_, format_)) throw RowFault{std::move(*marked)};
  }

  /// Refuses rows of other methods, unless the owner named the fields that are to be learnt.
  void refuse_other_kinds() const {
    refuse_marked();
    if (format_.named) return;
    if (const auto other = other_kind_of_data(row_)) throw RowFault{*other};
  }

  /// Refuses rows with images, videos or sounds. A text alone stands for itself unless it has a
  /// place for them.
  void refuse_other_media(const std::optional<std::string>& text = std::nullopt) const {
    for (const std::string medium : {"image", "video", "audio"}) {
      const bool has_place = !text || text->find("<" + medium + ">") != std::string::npos ||
                             text->find("<|" + medium + "|>") != std::string::npos;
      if (!has_place) continue;
      for (const std::string& field : {medium + "s", medium}) {
        const Json* found = present(field);
        if (found == nullptr || !is_filled(*found) || is_named(field)) continue;
        fault(field,
              "is not read: text alone is learnt (remove the field where the text stands without "
              "it)");
      }
    }
  }

  /// Whether the format reads a field of that name as text.
  [[nodiscard]] bool is_named(const std::string& field) const {
    return field == format_.text || field == format_.prompt || field == format_.query ||
           field == format_.response || field == format_.completion || field == format_.system;
  }

  /// Refuses what belongs to conversations beside a prompt that is a text, which has no place for
  /// it.
  void refuse_parts_of_conversations() const {
    for (const std::string* field : {&format_.system, &format_.tools, &format_.history}) {
      const Json* found = present(*field);
      if (found == nullptr || !is_filled(*found)) continue;
      const bool metadata = field == &format_.history && found->is_string() &&
                            !found->get_ref<const std::string&>().starts_with('[');
      if (metadata) continue;
      fault_of_file(*field,
                    "is not read beside a prompt that is text: learn the rows as "
                    "conversations by columns: {prompt: " +
                        format_.prompt + ", response: " + format_.completion +
                        "}, or give prompt and completion as lists of messages");
    }
  }

  /// A conversation with its variables and the system message that stands beside it.
  [[nodiscard]] Conversation beginning() const {
    Conversation out;
    out.variables = variables();
    const std::string text = optional(format_.system);
    if (!text.empty()) out.messages.push_back(chat_message("system", text));
    return out;
  }

  [[nodiscard]] std::string variables() const {
    Json all = Json::object();
    if (const Json* given = present(format_.tools)) {
      const Json tools = tools_of(*given, format_.tools, format_.kind != DataFormat::messages);
      if (!tools.is_null()) all["tools"] = tools;
    }
    const Json* documents = format_.kind == DataFormat::alpaca ? nullptr : present("documents");
    if (documents != nullptr && documents->is_array() && !documents->empty()) {
      all["documents"] = *documents;
    }
    if (const Json* more = present("chat_template_kwargs"); more && is_filled(*more)) {
      const Json kwargs = object_in(*more);
      if (!kwargs.is_object()) fault("chat_template_kwargs", "must be an object");
      for (const auto& [name, value] : kwargs.items()) {
        if (!value.is_null()) all[name] = value;
      }
    }
    if (!all_finite(all)) fault("chat_template_kwargs", "holds NaN or Infinity");
    return json_text(all);
  }

  /// The object that a JSON value is, or holds as JSON text; null for anything else.
  static Json object_in(const Json& value) {
    if (!value.is_string()) return value;
    JsonRow read = read_json_row(value.get_ref<const std::string&>());
    return read.fault.empty() ? std::move(*read.value) : Json();
  }

  void append_history(const Json& given, Conversation& out) const {
    const std::string& name = format_.history;
    if (!is_filled(given)) return;
    const Json turns = list_in(given);
    if (!turns.is_array()) fault(name, "must be a list of [question, answer] pairs");
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const Json& turn = turns[i];
      if (!turn.is_array() || turn.size() != 2 || !turn[0].is_string() || !turn[1].is_string()) {
        fault(name + "[" + std::to_string(i) + "]", "must be a [question, answer] pair of texts");
      }
      out.messages.push_back(chat_message("user", turn[0].get<std::string>()));
      out.messages.push_back(chat_message("assistant", turn[1].get<std::string>()));
    }
  }

  void append_list(const std::string& field, Conversation& out) const {
    const Json* given = present(field);
    if (given == nullptr) fault(field, "is missing");
    const Json list = list_of(*given, field);
    const bool has_system = !out.messages.empty();
    for (std::size_t i = 0; i < list.size(); ++i) {
      append_message(list[i], field + "[" + std::to_string(i) + "]", format_, out);
    }
    if (has_system && field == format_.messages && out.messages.size() > 1 &&
        out.messages[1].fields.starts_with("{\"role\":\"system\"")) {
      fault(format_.system, "is given beside a system message: keep one");
    }
  }

  static void require_answer(const std::string& field, const Conversation& out) {
    const auto said = [](const ChatMessage& each) {
      return each.fields.starts_with("{\"role\":\"assistant\"");
    };
    if (std::ranges::none_of(out.messages, said)) {
      fault(field, "has no message of the assistant to learn");
    }
    if (std::ranges::none_of(out.messages,
                             [&](const ChatMessage& e) { return said(e) && e.learnt; })) {
      fault_of_marks(field, "has no message that is to be learnt");
    }
  }

  const Json& row_;
  const ExampleFormat& format_;
};

}  // namespace

std::variant<Example, BadExample> read_example(const Json& row, const ExampleFormat& format) {
  if (auto table = column_table(row)) return *table;
  const ExampleFields fields(row, format);
  try {
    switch (format.kind) {
      case DataFormat::jsonl:
        return fields.text();
      case DataFormat::alpaca:
        return fields.alpaca();
      case DataFormat::sharegpt:
      case DataFormat::messages:
        return fields.messages();
      case DataFormat::prompt_completion:
        return fields.prompt_completion();
      case DataFormat::automatic:
      case DataFormat::text:
      case DataFormat::bytes:
      case DataFormat::tokens:
        break;
    }
  } catch (const RowFault& found) {
    return found.bad;
  }
  return BadExample{.reason = "the format has no examples", .of_file = true};
}

}  // namespace sluice::engine
