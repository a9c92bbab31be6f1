// One predicted step as columns that the page draws.
#pragma once

#include <string>

#include "planner/predictions/predict.hpp"

namespace sluice::cli {

/// JSON object of the steady step, with tasks that reach into it cut at its ends: `step_s`, `lanes`
/// and `kinds` (names), and columns `lane`, `kind` (indices), `unit`, `start_s`, `end_s`, by start
/// within a lane. Where there are more tasks than a page draws, neighbours of one kind on a lane
/// with little between them are joined, which `joined` says.
[[nodiscard]] std::string step_timeline(const planner::PredictedStep& step);

}  // namespace sluice::cli
