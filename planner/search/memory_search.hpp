// The search among plans that use no disk.
#pragma once

#include <variant>

#include "planner/effort/search_settings.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/search/outcome.hpp"

namespace sluice::planner {

/// The fastest plan found that keeps nothing on the disk, with its optimality gap; or, where no
/// such plan fits, what the one that comes nearest to fitting lacks (without remedies). Throws
/// BadRequest where no valid plan has the pins, Interrupted once settings.stop asks it to.
[[nodiscard]] std::variant<Planned, Infeasible> search_in_memory(const Predictor& predictor,
                                                                 const SearchSettings& settings);

}  // namespace sluice::planner
