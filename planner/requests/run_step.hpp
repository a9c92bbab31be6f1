// The step that a run takes, by its policy's plan or by the best plan that a search finds.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/effort/deadline.hpp"
#include "planner/requests/request.hpp"

namespace sluice::planner {

/// Effort, in simulated tasks, of searches whose steps are only compared with one another: which
/// run is faster shows long before the best plan does.
inline constexpr std::int64_t kCompareEffort = 150'000;
/// Effort, in simulated tasks, of the search for each machine and order that advice names: a fifth
/// of the usual effort comes near the usual plan, a twentieth does not.
inline constexpr std::int64_t kAdviceEffort = 600'000;

/// The predicted step of the plan that the run's policy makes or, without a policy, of the best
/// plan that a search of `effort` simulated tasks finds. A plan file that the run names is ignored.
/// None where no plan fits. Past `deadline` the search stops as soon as it has a plan. Throws
/// BadRequest where the policy cannot make a plan.
[[nodiscard]] std::optional<PredictedStep> step_of(Request request,
                                                   std::int64_t effort = kCompareEffort,
                                                   const Deadline& deadline = {});

/// step_of() for `changed`, a variation of the run of `request`; none also where `changed` is not
/// valid, such as where the run's pins do not agree with its sizes.
[[nodiscard]] std::optional<PredictedStep> step_of_changed(const Request& request,
                                                           RunConfig changed,
                                                           const Deadline& deadline = {});

}  // namespace sluice::planner
