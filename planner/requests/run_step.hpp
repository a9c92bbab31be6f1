// The step that a run takes: by its policy's plan, or by the best plan that a search finds.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/effort/deadline.hpp"
#include "planner/requests/request.hpp"

namespace sluice::planner {

/// Of the searches that compare runs with one another: which is faster shows long before which plan
/// is best.
inline constexpr std::int64_t kCompareEffort = 150'000;
/// Of the searches for each machine and order that advice names: of a twentieth of the usual effort
/// they were 10 and 17 % short of the usual one on two cards, of a fifth 2 and 1 %
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
