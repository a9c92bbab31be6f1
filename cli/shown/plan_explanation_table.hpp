// What `sluice plan` says of the plan it found, as lines on the terminal.
#pragma once

#include <string>

#include "planner/explanation/plan_explanation.hpp"

namespace sluice::cli {

/// What bounds the step, the waterfall from the bound to it, what to relax first, what is next.
[[nodiscard]] std::string explanation_table(const planner::PlanExplanation& explanation);

}  // namespace sluice::cli
