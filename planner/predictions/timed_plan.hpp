// Plan with its memory and step time, as searches keep it.
#pragma once

#include "planner/layout/memory.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// A plan with its memory and the time of its step, as far as they are known.
struct TimedPlan {
  Plan plan;
  Memory memory = {};  ///< Memory that a layout of the plan takes; empty where it is not known yet.
  Duration step{0};    ///< Time of a step; 0 where it is not known.
  /// Approximate peaks of device and of host memory, where `memory` is not known yet.
  Bytes hbm{0}, host{0};
};

}  // namespace sluice::planner
