// Plan that a run is trained with, and the memory and time that its checkpoints take.
#pragma once

#include <variant>

#include "planner/requests/choose_plan.hpp"
#include "planner/requests/saving_plan.hpp"
#include "profiler/training/train_request.hpp"

namespace sluice::profiler {

/// The plan of a run, with the snapshot of its saves in the plan's memory.
struct RunPromise {
  planner::ChosenPlan plan;
  planner::SavingPlan saving;
};

/// Chooses the plan as `choose_plan` does, and adds the memory and time of checkpoints to its
/// prediction; if no plan fits, returns what is missing. Throws BadRequest for a plan of another
/// job.
[[nodiscard]] std::variant<RunPromise, planner::Infeasible> promise_of(const TrainRequest& request);

}  // namespace sluice::profiler
