// What is said on stderr beside a result.
#pragma once

#include <string_view>

namespace sluice::sim {

/// `sluice: warning: message`, one line on stderr, as errors are (sim/message_line.hpp).
void warn(std::string_view message);
/// Likewise `sluice: note: message`.
void note(std::string_view message);
/// Likewise `sluice: message`: what a wait is for.
void tell(std::string_view message);

}  // namespace sluice::sim
