// The plan with which a run is to be trained, and the memory and time that its checkpoints take.
#pragma once

#include <variant>

#include "planner/plans/plan_file.hpp"
#include "planner/requests/choose_plan.hpp"
#include "planner/requests/saving_plan.hpp"
#include "profiler/training/train_request.hpp"

namespace sluice::profiler {

/// The plan of a run, whose predicted memory includes the snapshot that its saves need, and what
/// those saves cost.
struct RunPromise {
  planner::ChosenPlan plan;
  planner::SavingPlan saving;
};

/// Chooses the run's plan as choose_plan() does, and adds the memory of checkpoints to its
/// prediction; if no plan fits, returns what is missing. Throws BadRequest for a plan of another
/// job.
[[nodiscard]] std::variant<RunPromise, planner::Infeasible> promise_of(const TrainRequest& request);
/// The same with the plan that another rank of the run chose.
[[nodiscard]] std::variant<RunPromise, planner::Infeasible> promise_of(
    const TrainRequest& request, const planner::PlanFile& chosen);

}  // namespace sluice::profiler
