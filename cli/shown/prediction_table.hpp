// Predictions, plans and refusals for memory as tables on the terminal.
#pragma once

#include <string>

#include "planner/predictions/predict.hpp"
#include "planner/search/search.hpp"

namespace sluice::cli {

[[nodiscard]] std::string prediction_table(const planner::Prediction& prediction,
                                           const planner::Job& job, const std::string& machine);
[[nodiscard]] std::string plan_table(const planner::Plan& plan, const planner::Job& job);
[[nodiscard]] std::string infeasible_table(const planner::Infeasible& infeasible);
[[nodiscard]] std::string remedies_table(const std::vector<planner::Remedy>& remedies);
[[nodiscard]] std::string memory_table(const planner::Memory& memory);

/// To standard output; main sees to it that it arrived.
void print(const std::string& text);

}  // namespace sluice::cli
