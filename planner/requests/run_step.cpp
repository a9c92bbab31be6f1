#include "planner/requests/run_step.hpp"

#include <utility>

#include "planner/requests/choose_plan.hpp"
#include "sim/error.hpp"

namespace sluice::planner {

std::optional<PredictedStep> step_of(Request request, std::int64_t effort,
                                     const Deadline& deadline) {
  request.config.plan.reset();
  request.search.effort = effort;
  request.search.until = deadline;
  auto found = choose_plan(request, {.remedies = false});
  if (auto* chosen = std::get_if<ChosenPlan>(&found)) return std::move(chosen->step());
  return std::nullopt;
}

std::optional<PredictedStep> step_of_changed(const Request& request, RunConfig changed,
                                             const Deadline& deadline) {
  try {
    return step_of(request.with(std::move(changed)), kCompareEffort, deadline);
  } catch (const BadRequest&) {
    return std::nullopt;
  }
}

}  // namespace sluice::planner
