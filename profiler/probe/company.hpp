// How much one load is slowed by another that runs beside it on its own thread.
#pragma once

#include <functional>

#include "planner/machines/machine.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

using Load = std::function<void()>;

/// Speed of `load` beside `company` over its speed alone, at most 1. Alone and beside take turns,
/// so that a machine that slows down over time slows both. In processor time of the load's thread:
/// waiting for a core is the simulator's business (the link `cores`), not interference.
[[nodiscard]] planner::Fact speed_beside(const Load& load, const Load& company, Seconds budget,
                                         const std::string& note);

}  // namespace sluice::profiler
