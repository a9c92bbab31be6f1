// A plan that keeps more of the forward pass, where memory allows it.
#pragma once

#include <optional>

#include "planner/effort/search_settings.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/predictions/timed_plan.hpp"
#include "planner/search/search.hpp"

namespace sluice::planner {

/// The fastest plan that differs from `plan` in what some of its equal blocks keep, or where: as
/// many of them keep more as fit. None where none is faster than `step`. A handful of simulations:
/// what 10 % more of a memory is worth shows here long before a search finds it anew. Of `settings`
/// pins, threads, and until when to begin simulations count.
[[nodiscard]] std::optional<TimedPlan> keep_more(const Plan& plan, Duration step,
                                                 const Predictor& predictor,
                                                 const SearchSettings& settings);

}  // namespace sluice::planner
