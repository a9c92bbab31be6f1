// Messages for users as single lines, whatever a file or a command line held.
#pragma once

#include <string>
#include <string_view>

namespace sluice::sim {

/// `message` as one line of UTF-8: characters that end a line or control a terminal (Unicode's Cc,
/// and U+2028 and U+2029) become spaces, bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string message_line(std::string_view message);

}  // namespace sluice::sim
