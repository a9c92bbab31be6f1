// The explanation that `sluice plan` prints of the plan it found.
#pragma once

#include <string>

#include "planner/explanation/plan_explanation.hpp"

namespace sluice::cli {

/// Lines that explain a plan's step: what bounds it, the waterfall from the bound to the step,
/// which resource to have more of first, and the next bottleneck.
[[nodiscard]] std::string explanation_table(const planner::PlanExplanation& explanation);

}  // namespace sluice::cli
