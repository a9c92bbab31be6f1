// The first difference between the texts of two chat templates.
#pragma once

#include <optional>
#include <string>

#include "engine/chat/chat_template.hpp"

namespace sluice::engine {

/// One line that shows where the texts of two templates first differ: what `chosen` (the run's) and
/// `own` (the model folder's) write there. None if both write the same for four short
/// conversations, one with a system message and one with a thought.
[[nodiscard]] std::optional<std::string> template_difference(const ChatTemplate& chosen,
                                                             const ChatTemplate& own);

}  // namespace sluice::engine
