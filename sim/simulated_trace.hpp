// Conversion of a simulation to a trace.
#pragma once

#include "sim/simulate.hpp"
#include "sim/trace.hpp"

namespace sluice::sim {

/// Trace of a simulation with one span per task, in file order. A task of a graph file has no kind
/// of its own, so `kind` is "fixed" or "flow", and `bytes` is 0.
[[nodiscard]] Trace simulated_trace(const TaskGraph& graph, const Timeline& timeline);

}  // namespace sluice::sim
