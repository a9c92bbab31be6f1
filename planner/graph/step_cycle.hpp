// Steps of a long run that take turns: each takes as long as the one some steps before it.
#pragma once

#include <optional>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "sim/simulate.hpp"

namespace sluice::planner {

/// A cycle of steps of unequal length.
struct StepCycle {
  /// Graph of many steps without addresses and accesses, whose period is one cycle, and its
  /// simulation. The period's length is the mean step of the cycle.
  StepGraph graph;
  sim::Timeline timeline;
  std::vector<Duration> steps;  ///< Length of each step of the cycle, in order; at least two.
};

/// Most steps of a cycle that is looked for.
inline constexpr std::size_t kLongestCycle = 3;

/// The cycle that a long run of `graph`, a graph of three steps, ends in: 12 steps are simulated,
/// of which the last ones must repeat. Steps that differ by less than 1/500 count as equal, since
/// shared links make them differ by some microseconds for ever. None where all last steps are
/// equal, or no cycle of at most kLongestCycle steps is seen.
[[nodiscard]] std::optional<StepCycle> step_cycle(const StepGraph& graph);

/// `graph`, of three steps, with `steps` steps (at least three): its first, copies of its second,
/// and its third. Tasks keep neither accesses nor addresses. The period is that of the last step.
[[nodiscard]] StepGraph many_steps(const StepGraph& graph, std::size_t steps);

}  // namespace sluice::planner
