// The plan that a run is executed with: given, stored, or found now.
#pragma once

#include <string>
#include <variant>

#include "planner/requests/run_planning.hpp"

namespace sluice::profiler {

/// The plan a run uses and where it came from.
struct ChosenPlan {
  planner::PredictedStep step;
  std::string source;       ///< "given", "stored", "searched"
  std::string description;  ///< For people.
};

/// The plan that the run names; else the stored one, where it goes with the run's pins, limits and
/// residency; else the best that a search finds. A given plan that exceeds a capacity is not
/// replaced: the remedies name what a search would do. Throws BadRequest for a plan of another job.
[[nodiscard]] std::variant<ChosenPlan, planner::Infeasible> choose_plan(
    const planner::RunConfig& config, const planner::RunPlanning& run);

}  // namespace sluice::profiler
