// A simulation as a trace.
#pragma once

#include "sim/simulate.hpp"
#include "sim/trace.hpp"

namespace sluice::sim {

/// One span a task, in file order. A raw graph knows no kinds of task: `kind` is "fixed" or "flow",
/// and `bytes` is 0.
[[nodiscard]] Trace simulated_trace(const TaskGraph& graph, const Timeline& timeline);

}  // namespace sluice::sim
