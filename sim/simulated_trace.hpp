// Conversion of a simulation to a trace.
#pragma once

#include "sim/simulate.hpp"
#include "sim/trace.hpp"

namespace sluice::sim {

/// Trace with one span per task, in file order. A raw graph has no kinds of task, so `kind` is
/// "fixed" or "flow", and `bytes` is 0.
[[nodiscard]] Trace simulated_trace(const TaskGraph& graph, const Timeline& timeline);

}  // namespace sluice::sim
