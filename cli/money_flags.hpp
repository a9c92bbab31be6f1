// Flags about tokens and money that predict and buy share.
#pragma once

#include <optional>
#include <string>

#include "planner/prediction_json.hpp"
#include "planner/prices.hpp"
#include "planner/run_arguments.hpp"

namespace sluice::cli {

/// --tokens: "10G", "10B" (billion), "1.5T", "2e9". Throws BadRequest.
[[nodiscard]] std::optional<double> token_count(const planner::RunArguments& request);

/// A flag that is a number above 0.
[[nodiscard]] std::optional<double> positive_number(const planner::RunArguments& request,
                                                    const char* flag);

/// Days for the tokens and what they cost on `machine`.
[[nodiscard]] planner::RunMoney money_of(const planner::Prediction& prediction,
                                         const std::string& machine, std::optional<double> tokens,
                                         const planner::PriceList& prices);

}  // namespace sluice::cli
