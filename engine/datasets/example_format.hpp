// Meaning of the fields of a data set's examples.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/chat/conversation.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::engine {

/// Who says a message.
enum class Speaker { system, user, assistant };
const char* to_string(Speaker speaker);

/// Names of the fields of an example, called as in the `columns` and `tags` of dataset_info.json.
/// An empty name is a field that the examples do not have.
struct ExampleFormat {
  planner::DataFormat kind = planner::DataFormat::text;  ///< Kind of the data; never automatic.
  std::string text = "text";                             ///< Field of the text, in jsonl.
  std::string prompt = "instruction", query = "input", response = "output", history = "history";
  std::string system = "system";  ///< Field of the system message, in alpaca and beside messages.
  std::string messages = "messages";
  std::string role = "role", content = "content";
  std::vector<std::pair<std::string, Speaker>> speakers;  ///< Speaker for each value of `role`.

  [[nodiscard]] bool conversations() const {
    return kind != planner::DataFormat::text && kind != planner::DataFormat::jsonl;
  }
  /// The format as text that is equal for formats that read examples alike; used for hashes.
  [[nodiscard]] std::string canonical() const;
};

/// The usual field names of a kind of data.
[[nodiscard]] ExampleFormat example_format(planner::DataFormat kind);

/// One item of a data file: a text to continue, or a conversation.
using Example = std::variant<std::string, Conversation>;

/// Reads one example. Throws BadRequest `WHERE: FIELD: ...` if a field is missing or not what the
/// format says.
[[nodiscard]] Example read_example(const nlohmann::json& object, const ExampleFormat& format,
                                   const std::string& where);

}  // namespace sluice::engine
