// A slow simulator written directly from the contract, for comparison.
#pragma once

#include "tests/sim/random_graph.hpp"

namespace sluice::sim {

/// Result of a simulation that shares no code and no algorithm with the simulator: every event
/// scans every task, all rates are found by bisection on the level (in long double), and nothing is
/// kept between events.
[[nodiscard]] Outcome reference_outcome(const TaskGraph& graph);

}  // namespace sluice::sim
