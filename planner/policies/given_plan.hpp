// A plan that was not searched for.
#pragma once

#include <optional>

#include "planner/layout/memory.hpp"
#include "planner/plans/plan.hpp"
#include "planner/plans/plan_source.hpp"

namespace sluice::planner {

/// A plan that a file or a policy gives.
struct GivenPlan {
  Plan plan;
  PlanSource source = PlanSource::file;
  /// Memory by the policy's own rule, where it has one; otherwise it is what the layout takes.
  std::optional<Memory> policy_memory = {};
};

}  // namespace sluice::planner
