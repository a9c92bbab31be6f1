// Every plan of a space that is small enough to go through.
#pragma once

#include <optional>
#include <vector>

#include "planner/search/plan_space.hpp"

namespace sluice::planner {

/// All valid plans with the pins, of plans with the same step graph only one; none where there are
/// more than `most` combinations of values. Numbers of buffers go up to what can be in use, threads
/// to the machine's cores; docs/design/plan-space.md has the copy chunks.
[[nodiscard]] std::optional<std::vector<Plan>> every_plan(const Predictor& predictor,
                                                          const Pins& pins, std::int64_t most);

/// `plan` with its numbers of buffers and threads reduced to those that can be in use, which leaves
/// its step graph as it is: plans with equal results have equal step graphs.
[[nodiscard]] Plan canonical(Plan plan);

}  // namespace sluice::planner
