// A plan that the search considers, with its estimate.
#pragma once

#include "planner/plans/plan.hpp"
#include "planner/predictions/plan_estimate.hpp"

namespace sluice::planner {

/// A plan that a search considers, with the bounds and guesses that PlanEstimator gives before it
/// is simulated.
struct Candidate {
  Plan plan;
  PlanEstimate estimate;
};

}  // namespace sluice::planner
