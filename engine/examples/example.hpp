// One example of a data set: what a row means.
#pragma once

#include <string>
#include <variant>

#include "engine/chat/conversation.hpp"
#include "engine/examples/example_format.hpp"
#include "engine/rows/json_row.hpp"

namespace sluice::engine {

/// Two texts, one behind the other: the prompt is only read, the completion is learnt.
struct PromptAndCompletion {
  std::string prompt, completion;
};

/// What one row of a data set is: a text, learnt as a whole, a prompt with its completion, or a
/// conversation.
using Example = std::variant<std::string, PromptAndCompletion, Conversation>;

/// Reason why a row of a data set is not read as an example.
struct BadExample {
  std::string reason;  ///< Field and fault, such as "output: is empty".
  /// Whether the row shows that its file is of a kind that is not trained here, such as preference
  /// data: then the file is refused, and no single row left out.
  bool of_file = false;
  /// Whether the row is left out because its own marks say that it is not learnt, which is no fault
  /// of the file, however many such rows it has.
  bool marked = false;
};

/// Reads one row of a data set, whose fields mean what `format` says: its example, or why it has
/// none.
[[nodiscard]] std::variant<Example, BadExample> read_example(const Json& row,
                                                             const ExampleFormat& format);

/// Format that the names of a row's fields suggest, where the owner of the data stated none; none
/// if it has no known fields.
[[nodiscard]] std::optional<ExampleFormat> guessed_format(const Json& row);

/// `format`, completed by what only a row tells: whether its prompt is a list of messages, and, if
/// `open` (the owner named neither fields nor roles of turns), whether turns are written as in
/// ShareGPT (from, value) instead of role and content.
[[nodiscard]] ExampleFormat settled_format(ExampleFormat format, const Json& row, bool open);

/// Advice for a row without known fields: one line that names the fields found, and the setting by
/// which their meaning can be stated.
[[nodiscard]] std::string advice_on_fields(const Json& row);

/// Reason why a row belongs to preference data, which is not trained here, by its fields; none for
/// other rows.
[[nodiscard]] std::optional<BadExample> other_kind_of_data(const Json& row);

}  // namespace sluice::engine
