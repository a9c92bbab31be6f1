// Every plan of a space that is small enough to go through.
#pragma once

#include <optional>
#include <vector>

#include "planner/search/plan_space.hpp"

namespace sluice::planner {

/// All valid plans with the pins, plans of one step graph once; none where there are more than
/// `most`. Buffers up to what can be in use, threads up to the machine's cores, copy chunks of
/// docs/design/plan-space.md.
[[nodiscard]] std::optional<std::vector<Plan>> every_plan(const Predictor& predictor,
                                                          const Pins& pins, std::int64_t most);

/// The plan of the same step graph with no slot that is never occupied.
[[nodiscard]] Plan canonical(Plan plan);

}  // namespace sluice::planner
