// Predictions, plans and refusals for lack of memory as tables for the terminal.
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

/// Writes `text` to standard output; main checks at the end that the output was taken.
void print(const std::string& text);

}  // namespace sluice::cli
