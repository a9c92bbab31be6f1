// Description of a plan in one line of text.
#pragma once

#include <string>

#include "planner/plans/plan.hpp"

namespace sluice::planner {

/// A plan in one line, such as "2 weight buffers, depth 1, 4 rounds of 2, keeps all, 3 of 28 blocks
/// resident, 1 thread".
[[nodiscard]] std::string describe_plan(const Plan& plan);

}  // namespace sluice::planner
