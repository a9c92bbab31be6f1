// Words that people write for a path of a run, beyond the reach of spelling.
#pragma once

#include <optional>
#include <string>

namespace sluice::planner {

/// The path of a run that people mean by `word` though it is spelled otherwise, such as
/// optimizer.lr by lr; none for other words.
[[nodiscard]] std::optional<std::string> path_meant_by(const std::string& word);

}  // namespace sluice::planner
