// The `columns` by which rows of preferences are learnt without them.
#pragma once

#include <optional>
#include <string>

#include "engine/rows/json_row.hpp"

namespace sluice::engine {

/// The `columns` of a run, such as "{prompt: question, response: chosen}", by which the field
/// `answer` of such rows is learnt: as a list of messages, an answer to a prompt, or a text. None
/// where no columns can say it, as where the answer is a single message.
[[nodiscard]] std::optional<std::string> columns_of_answer(const Json& row,
                                                           const std::string& answer);

/// The `columns` of a run by which such rows are learnt as they are without any, whatever other
/// fields they have.
[[nodiscard]] std::string columns_of_row(const Json& row);

}  // namespace sluice::engine
