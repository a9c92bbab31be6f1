// Texts that `sluice train --rehearse` prints for people.
#pragma once

#include <string>

#include "planner/search/remedies.hpp"
#include "profiler/training/rehearsed_run.hpp"

namespace sluice::cli {

/// Text of a table with predicted and measured times, the bound, and the kinds of values found in
/// the state.
[[nodiscard]] std::string rehearsal_table(const profiler::Rehearsed& run);

/// Text that says what a host lacks for a rehearsal; `lack` is the Infeasible of plan_rehearsal.
[[nodiscard]] std::string too_small_table(const planner::Infeasible& lack);

}  // namespace sluice::cli
