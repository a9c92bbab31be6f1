// The plan of a run that a plan file or a policy gives.
#pragma once

#include <optional>

#include "planner/layout/memory.hpp"
#include "planner/plans/plan.hpp"
#include "planner/plans/plan_source.hpp"

namespace sluice::planner {

/// The plan of a run that a plan file or a policy gives, so that no search is made.
struct GivenPlan {
  Plan plan;
  PlanSource source = PlanSource::file;
  /// Memory that the plan takes by a rule of the policy's own; none where the policy has no such
  /// rule, and the memory of the plan's layout holds.
  std::optional<Memory> policy_memory = {};
};

}  // namespace sluice::planner
