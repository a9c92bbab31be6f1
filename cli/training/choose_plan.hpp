// Choice of the plan that a run is executed with: the given one, a stored one, or the result of a
// search.
#pragma once

#include <string>
#include <variant>

#include "planner/requests/run_planning.hpp"

namespace sluice::cli {

/// The plan of a run and its origin.
struct ChosenPlan {
  planner::PredictedStep step;
  std::string source;       ///< Origin of the plan: "given", "stored" or "searched".
  std::string description;  ///< Description for people.
};

/// Chooses the plan that the run names; else the stored one, if it agrees with the run's pins,
/// limits and residency; else the best that a search finds. A given plan that exceeds a capacity is
/// not replaced: the remedies name what a search would find. Throws BadRequest for a plan of
/// another job.
[[nodiscard]] std::variant<ChosenPlan, planner::Infeasible> choose_plan(
    const planner::RunConfig& config, const planner::RunPlanning& run);

}  // namespace sluice::cli
