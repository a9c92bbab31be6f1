// Derivation of a plan that keeps less on the disk, for a host with more memory.
#pragma once

#include <optional>

#include "planner/effort/search_settings.hpp"
#include "planner/explanation/more_kept.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/search/search.hpp"

namespace sluice::planner {

/// `plan` with as much of its disk state moved to host memory as the predictor's machine has room
/// for: weights first, which cross the disk most often, then gradients, then state, in the order of
/// units. None where that is not faster than `step`. Takes at most three simulations and no search.
[[nodiscard]] std::optional<TimedPlan> less_on_disk(const Plan& plan, Duration step,
                                                    const Predictor& predictor,
                                                    const SearchSettings& settings);

}  // namespace sluice::planner
