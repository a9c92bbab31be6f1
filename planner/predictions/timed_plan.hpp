// Plan with its memory and step time.
#pragma once

#include "planner/layout/memory.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// A plan with its memory and the time of its step, as far as they are known.
struct TimedPlan {
  Plan plan;
  Memory memory = {};
  Duration step{0};
  Bytes hbm{0}, host{0};  ///< Approximate peaks, where `memory` is not known yet.
};

}  // namespace sluice::planner
