// What is said to a user in one line, whatever a file or a command line held.
#pragma once

#include <string>
#include <string_view>

namespace sluice::sim {

/// `message` as one line of UTF-8: a space for each character that ends a line or steers a terminal
/// (Unicode's Cc, and U+2028 and U+2029), and U+FFFD for what is no UTF-8.
[[nodiscard]] std::string message_line(std::string_view message);

}  // namespace sluice::sim
