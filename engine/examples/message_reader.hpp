// Reads the turns of conversations.
#pragma once

#include <stdexcept>
#include <string>

#include "engine/chat/conversation.hpp"
#include "engine/examples/example.hpp"

namespace sluice::engine {

/// Thrown where a row is found to be no example, with the reason; read_example catches it.
struct RowFault {
  BadExample bad;
};

[[noreturn]] inline void fault(const std::string& field, const std::string& reason) {
  throw RowFault{{.reason = field + ": " + reason}};
}
[[noreturn]] inline void fault_of_marks(const std::string& field, const std::string& reason) {
  throw RowFault{{.reason = field + ": " + reason, .marked = true}};
}
[[noreturn]] inline void fault_of_file(const std::string& field, const std::string& reason) {
  throw RowFault{{.reason = field + ": " + reason, .of_file = true}};
}

/// The text that a JSON value of field `field` holds: the value itself, or its parts of type text
/// joined. Throws RowFault for anything else.
[[nodiscard]] std::string text_of_parts(const Json& value, const std::string& field);

/// Appends `message`, one turn as the data have it, to a conversation. `field` is its place for
/// messages, such as "messages[2]". Throws RowFault if it is no turn.
void append_message(const Json& message, const std::string& field, const ExampleFormat& format,
                    Conversation& conversation);

/// The list that a JSON value is, or holds as JSON text (as CSV files have it); null for anything
/// else.
[[nodiscard]] Json list_in(const Json& value);

/// The list that a JSON value is, or holds as JSON text. Throws RowFault naming `field` for
/// anything else.
[[nodiscard]] Json list_of(const Json& value, const std::string& field);

/// The tools of a row as a template sees them, from a list or its JSON text; null for none.
/// `wraps`: whether a tool that has a name and no `function` is put into {"type": "function",
/// "function": ...}. Throws RowFault naming `field` for anything else.
[[nodiscard]] Json tools_of(const Json& value, const std::string& field, bool wraps);

}  // namespace sluice::engine
