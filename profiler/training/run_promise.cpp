#include "profiler/training/run_promise.hpp"

#include <optional>
#include <utility>

#include "engine/backends/backend.hpp"
#include "planner/machines/host_memory.hpp"

namespace sluice::profiler {
namespace {

constexpr planner::PlanOptions kOptions{.stored = true, .executable = true, .kept = true};

std::variant<RunPromise, planner::Infeasible> promise_with(
    const TrainRequest& request, std::variant<planner::ChosenPlan, planner::Infeasible> chosen) {
  if (auto* infeasible = std::get_if<planner::Infeasible>(&chosen)) return std::move(*infeasible);
  RunPromise promise{.plan = std::move(std::get<planner::ChosenPlan>(chosen)), .saving = {}};
  planner::Prediction& prediction = promise.plan.step().prediction;
  if (!request.options.dry) {
    prediction.numerics_id = engine::numerics_id(request.job(), request.machine());
  }
  const bool here = request.config.machine == "here";
  promise.saving =
      plan_saving(request.config, request.job(), prediction, request.machine(),
                  here ? std::optional(planner::host_memory().available) : std::nullopt);
  add_snapshot(prediction, promise.saving);
  return promise;
}

}  // namespace

std::variant<RunPromise, planner::Infeasible> promise_of(const TrainRequest& request) {
  return promise_with(request, choose_plan(request.planning, kOptions));
}

std::variant<RunPromise, planner::Infeasible> promise_of(const TrainRequest& request,
                                                         const planner::PlanFile& chosen) {
  check_plan_for(chosen, request.job());
  return promise_with(request, choose_given({.plan = chosen.plan}, request.planning, kOptions));
}

}  // namespace sluice::profiler
