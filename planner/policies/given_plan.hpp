// Plan that a file or a policy gives.
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
  /// Memory by the policy's own rule, if it has one; otherwise memory is that of the layout.
  std::optional<Memory> policy_memory = {};
};

}  // namespace sluice::planner
