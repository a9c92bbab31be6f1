// A slow simulator written straight from the contract, to compare with.
#pragma once

#include "tests/sim/random_graph.hpp"

namespace sluice::sim {

/// Shares no code and no algorithm with the simulator: every event scans every task, all rates are
/// found again by bisection on the level (in long double), and nothing is kept between events.
[[nodiscard]] Outcome reference_outcome(const TaskGraph& graph);

}  // namespace sluice::sim
