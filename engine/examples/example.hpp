// One example of a data set: what a row means.
#pragma once

#include <string>
#include <variant>

#include "engine/chat/conversation.hpp"
#include "engine/examples/example_format.hpp"
#include "engine/rows/json_row.hpp"

namespace sluice::engine {

/// A text that is read and one that follows it and is learnt.
struct PromptAndCompletion {
  std::string prompt, completion;
};

/// A text to continue, a prompt with its completion, or a conversation.
using Example = std::variant<std::string, PromptAndCompletion, Conversation>;

/// Reason why a row is no example.
struct BadExample {
  std::string reason;  ///< Field and fault: "output: is empty".
  /// Whether the file as a whole is of a kind that is not trained here, such as preference data, so
  /// that leaving single rows out would be wrong.
  bool of_file = false;
};

/// Reads one row as the format says.
[[nodiscard]] std::variant<Example, BadExample> read_example(const Json& row,
                                                             const ExampleFormat& format);

/// Format that a row appears to have; none if it has no known fields.
[[nodiscard]] std::optional<ExampleFormat> guessed_format(const Json& row);

/// `format` with what only a row tells: whether its prompt is a list of messages, and which words
/// its turns use for role and content if `open` (the owner stated neither).
[[nodiscard]] ExampleFormat settled_format(ExampleFormat format, const Json& row, bool open);

/// Advice for a row without known fields: one line that names the fields found and the setting that
/// says what they mean.
[[nodiscard]] std::string advice_on_fields(const Json& row);

/// Reason why a row is preference data or of another kind that is not trained here; none for other
/// rows.
[[nodiscard]] std::optional<BadExample> other_kind_of_data(const Json& row);

}  // namespace sluice::engine
