// Alternatives that `sluice plan` shows: batch sizes, fronts, free sizes.
#pragma once

#include <string>

#include "planner/explanation/batch_that_hides_link.hpp"
#include "planner/explanation/free_sizes.hpp"
#include "planner/explanation/pareto_front.hpp"

namespace sluice::cli {

[[nodiscard]] std::string link_table(const planner::HiddenLink& link);
[[nodiscard]] std::string front_table(const planner::ParetoFront& front);
[[nodiscard]] std::string sizes_table(const planner::ChosenSizes& sizes,
                                      const planner::RunConfig& asked);

}  // namespace sluice::cli
