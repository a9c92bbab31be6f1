// The explanation that `sluice plan` prints of the plan it found.
#pragma once

#include <string>

#include "planner/explanation/plan_explanation.hpp"

namespace sluice::cli {

/// The explanation as lines: what bounds the step, the waterfall from the bound to the step, which
/// resource to relax first, the next best plan.
[[nodiscard]] std::string explanation_table(const planner::PlanExplanation& explanation);

}  // namespace sluice::cli
