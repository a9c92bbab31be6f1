// The search for the fastest plan that fits, with how far from the best it can be.
#pragma once

#include <variant>

#include "planner/effort/search_settings.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/search/outcome.hpp"

namespace sluice::planner {

/// The fastest plan found, or the tier that the plan of least memory exceeds (remedies left empty;
/// see planner/search/remedies.hpp). Deterministic. Throws BadRequest where no valid plan has the
/// pins.
[[nodiscard]] std::variant<Planned, Infeasible> search(const Predictor& predictor,
                                                       const SearchSettings& settings = {});

}  // namespace sluice::planner
