// What a run will be trained with: its plan, and what checkpoints take of it.
#pragma once

#include <variant>

#include "planner/requests/saving_plan.hpp"
#include "profiler/training/choose_plan.hpp"
#include "profiler/training/train_request.hpp"

namespace sluice::profiler {

/// The plan of a run, with the snapshot of its saves in the plan's memory.
struct RunPromise {
  ChosenPlan plan;
  planner::SavingPlan saving;
};

/// The plan that `choose_plan` takes and the saves that go with it; where no plan fits, what it
/// lacks. Throws BadRequest for a plan of another job.
[[nodiscard]] std::variant<RunPromise, planner::Infeasible> promise_of(const TrainRequest& request);

}  // namespace sluice::profiler
