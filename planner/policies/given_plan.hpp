// The plan of a run that a plan file or a policy gives.
#pragma once

#include <optional>

#include "planner/layout/memory.hpp"
#include "planner/plans/plan.hpp"
#include "planner/plans/plan_source.hpp"

namespace sluice::planner {

/// A plan that a plan file or a policy gives, in place of a search.
struct GivenPlan {
  Plan plan;
  PlanSource source = PlanSource::file;
  /// Memory that the policy's own rule says the plan takes; none where it has no such rule and the
  /// layout's memory holds.
  std::optional<Memory> policy_memory = {};
};

}  // namespace sluice::planner
