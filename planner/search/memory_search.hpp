// The search among plans that use no disk.
#pragma once

#include <variant>

#include "planner/effort/search_settings.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/search/outcome.hpp"

namespace sluice::planner {

/// The fastest plan found that uses no disk, or what such a plan of least memory lacks.
[[nodiscard]] std::variant<Planned, Infeasible> search_in_memory(const Predictor& predictor,
                                                                 const SearchSettings& settings);

}  // namespace sluice::planner
