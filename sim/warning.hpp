// Messages on stderr beside a result.
#pragma once

#include <string_view>

namespace sluice::sim {

/// Prints `sluice: warning: message` as one line on stderr, formatted as errors are
/// (sim/message_line.hpp).
void warn(std::string_view message);
/// Prints `sluice: note: message` as one line on stderr.
void note(std::string_view message);
/// Prints `sluice: message` as one line on stderr, to say what a wait is for.
void tell(std::string_view message);

}  // namespace sluice::sim
