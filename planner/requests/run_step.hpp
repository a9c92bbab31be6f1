// The step that a run takes: by its policy's plan, or by the best plan that a search finds.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/effort/deadline.hpp"
#include "planner/requests/request.hpp"

namespace sluice::planner {

/// Effort of searches that compare runs with one another: the faster run shows long before the best
/// plan does.
inline constexpr std::int64_t kCompareEffort = 150'000;
/// Effort of the search for each machine and order that advice names: a fifth of the usual effort
/// comes near the usual plan, a twentieth does not
/// (experiments/results/current/buy-advice/efforts.output).
inline constexpr std::int64_t kAdviceEffort = 600'000;

/// The step of the run's policy, else of the best plan found, whatever plan file the run names;
/// none where nothing fits. A search that found a plan ends with the deadline. Throws BadRequest as
/// the policy does.
[[nodiscard]] std::optional<PredictedStep> step_of(Request request,
                                                   std::int64_t effort = kCompareEffort,
                                                   const Deadline& deadline = {});

/// The step of a variation of the run; none also where the pins do not agree with its sizes.
[[nodiscard]] std::optional<PredictedStep> step_of_changed(const Request& request,
                                                           RunConfig changed,
                                                           const Deadline& deadline = {});

}  // namespace sluice::planner
