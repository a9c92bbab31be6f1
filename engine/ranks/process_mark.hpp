// Text by which processes of one host recognise each other, and see that one is gone.
#pragma once

#include <string>

namespace sluice::engine {

/// Mark of this process: boot of the system, namespace of process numbers, number and start.
[[nodiscard]] std::string own_process_mark();

/// Whether the process with `mark` has ended. False where this process cannot know: on another
/// host, or in another namespace.
[[nodiscard]] bool is_gone(const std::string& mark);

}  // namespace sluice::engine
