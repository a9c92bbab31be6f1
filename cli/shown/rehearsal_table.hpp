// What `sluice train --rehearse` prints for people.
#pragma once

#include <string>

#include "planner/search/remedies.hpp"
#include "profiler/training/rehearsed_run.hpp"

namespace sluice::cli {

/// Predicted beside measured, the bound, and what the values came to.
[[nodiscard]] std::string rehearsal_table(const profiler::Rehearsed& run);

/// What is said of an Infeasible of plan_rehearsal.
[[nodiscard]] std::string too_small_table(const planner::Infeasible& lack);

}  // namespace sluice::cli
