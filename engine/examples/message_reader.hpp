// Reads the turns of conversations.
#pragma once

#include <stdexcept>
#include <string>

#include "engine/chat/conversation.hpp"
#include "engine/examples/example.hpp"

namespace sluice::engine {

/// Thrown within the readers of one row, and caught by read_example.
struct RowFault {
  BadExample bad;
};

[[noreturn]] inline void fault(const std::string& field, const std::string& reason) {
  throw RowFault{{.reason = field + ": " + reason}};
}
[[noreturn]] inline void fault_of_file(const std::string& field, const std::string& reason) {
  throw RowFault{{.reason = field + ": " + reason, .of_file = true}};
}

/// Text that a value holds: itself, or its text parts joined. A part of another type is a fault.
[[nodiscard]] std::string text_of_parts(const Json& value, const std::string& field);

/// Appends one turn of the data to a conversation. Field is its place, such as "messages[2]".
void append_message(const Json& message, const std::string& field, const ExampleFormat& format,
                    Conversation& conversation);

/// The list that a value is, or holds as JSON text. Anything else is a fault.
[[nodiscard]] Json list_of(const Json& value, const std::string& field);

/// The tools of a row as a template sees them, from a list or its JSON text. `wraps`: whether a
/// tool without a type is put into {"type": "function", "function": ...}.
[[nodiscard]] Json tools_of(const Json& value, const std::string& field, bool wraps);

}  // namespace sluice::engine
