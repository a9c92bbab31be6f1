#include "planner/search/candidate_set.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace sluice::planner {

void CandidateSet::add(Plan plan) {
  if (pins_) pins_(plan);
  if (!valid(plan) || !seen_.insert(plan_hash(plan)).second) return;
  const PlanEstimate estimate = estimator_.estimate(plan);
  found_.push_back({std::move(plan), estimate});
}

bool CandidateSet::valid(const Plan& plan) const {
  try {
    validate(plan, predictor_.job());
  } catch (const BadRequest&) {
    return false;
  }
  if (predictor_.residency() != Residency::host) return true;
  return std::none_of(plan.units.begin(), plan.units.end(),
                      [](const UnitPlan& unit) { return unit.state == Tier::hbm; });
}

void stage_state(UnitPlan& unit) {
  unit.gradients = Tier::hbm;
  unit.state = Tier::host;
  unit.executor = Executor::gpu;
  unit.when = When::after;
}

}  // namespace sluice::planner
