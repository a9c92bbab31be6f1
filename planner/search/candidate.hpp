// A plan that the search considers, with its estimate.
#pragma once

#include "planner/plans/plan.hpp"
#include "planner/predictions/plan_estimate.hpp"

namespace sluice::planner {

/// A plan and what the estimator says of it before it is simulated.
struct Candidate {
  Plan plan;
  PlanEstimate estimate;
};

}  // namespace sluice::planner
