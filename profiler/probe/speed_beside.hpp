// Measurement of how much one load is slowed by another that runs on a thread of its own.
#pragma once

#include <functional>

#include "planner/machines/machine.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

using Load = std::function<void()>;

/// Speed of `load` while `other` runs on another thread, over its speed alone; at most 1. Both
/// speeds are measured alternately, so that a machine that slows down over time slows both. They
/// are in processor time of the load's thread: waiting for a core is modelled by the link `cores`,
/// not by interference.
[[nodiscard]] planner::Fact speed_beside(const Load& load, const Load& other, Seconds budget,
                                         const std::string& note);

}  // namespace sluice::profiler
