// Messages to users beside a result: on stderr, or wherever a program that embeds Sluice takes
// them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace sluice::sim {

/// Kinds of messages: what may be wrong, what is worth knowing, and what a wait is for.
enum class MessageKind { warning, note, wait };

/// Takes one message, a line without an end; called from any thread, by one thread at a time.
using MessageListener = std::function<void(MessageKind kind, const std::string& line)>;

/// Sends messages to `listener` instead of stderr from now on; to stderr again if it is empty. A
/// listener must not send messages itself.
void set_message_listener(MessageListener listener);

/// Prints `sluice: warning: message` as one line on stderr, formatted as errors are
/// (sim/message_line.hpp).
void warn(std::string_view message);
/// Prints `sluice: note: message` as one line on stderr.
void note(std::string_view message);
/// Prints `sluice: message` as one line on stderr, to say what a wait is for.
void tell(std::string_view message);

}  // namespace sluice::sim
