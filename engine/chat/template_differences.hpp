// The first difference between the texts of two chat templates.
#pragma once

#include <optional>
#include <string>

#include "engine/chat/chat_template.hpp"

namespace sluice::engine {

/// One line with an example: what `chosen` and `own` write for a conversation of which they make
/// different texts. None if they agree on a question with its answer, a system message, two
/// questions, and a thought.
[[nodiscard]] std::optional<std::string> template_difference(const ChatTemplate& chosen,
                                                             const ChatTemplate& own);

}  // namespace sluice::engine
