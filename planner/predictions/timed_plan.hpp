// A plan with its times.
#pragma once

#include "planner/layout/memory.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// A plan, the memory that it takes and how long its step takes, as far as they are known.
struct TimedPlan {
  Plan plan;
  Memory memory = {};
  Duration step{0};
  Bytes hbm{0}, host{0};  ///< Peaks, about, where `memory` is not known yet.
};

}  // namespace sluice::planner
