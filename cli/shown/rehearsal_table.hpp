// Tables that `sluice train --rehearse` prints for people.
#pragma once

#include <string>

#include "planner/search/remedies.hpp"
#include "profiler/training/rehearsed_run.hpp"

namespace sluice::cli {

/// Table of predicted and measured times, the bound, and the kinds of values found.
[[nodiscard]] std::string rehearsal_table(const profiler::Rehearsed& run);

/// Text for an Infeasible of plan_rehearsal.
[[nodiscard]] std::string too_small_table(const planner::Infeasible& lack);

}  // namespace sluice::cli
