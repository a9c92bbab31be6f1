// Derivation of a plan that keeps more of the forward pass, for a machine with more memory.
#pragma once

#include <optional>

#include "planner/effort/search_settings.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/predictions/timed_plan.hpp"
#include "planner/search/search.hpp"

namespace sluice::planner {

/// The fastest plan found in which blocks of one group of `plan` (blocks with equal choices), as
/// many as fit, keep more of their records, or as much in device instead of host memory. None where
/// none is faster than `step`. Takes a handful of simulations; of `settings` it uses the pins,
/// threads and `until`.
[[nodiscard]] std::optional<TimedPlan> keep_more(const Plan& plan, Duration step,
                                                 const Predictor& predictor,
                                                 const SearchSettings& settings);

}  // namespace sluice::planner
