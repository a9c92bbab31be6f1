// Flags about tokens and money that predict and buy share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/requests/run_arguments.hpp"

namespace sluice::cli {

/// Number of tokens that --tokens states: "10G", "10B" (billion), "1.5T", "2e9"; none without the
/// flag. Throws BadRequest.
[[nodiscard]] std::optional<double> token_count(const planner::RunArguments& request);

/// Number that the flag `flag` states, which must be above 0; none without the flag. Throws
/// BadRequest.
[[nodiscard]] std::optional<double> positive_number(const planner::RunArguments& request,
                                                    const char* flag);

/// Amounts in US dollars of a list such as "15000", "15,000", "$15k" or "15k,60k". Three digits
/// after a comma belong to the amount before it. Throws BadRequest naming `flag` for an amount that
/// is no number or not above 0.
[[nodiscard]] std::vector<double> dollar_amounts(const std::string& list, const std::string& flag);

}  // namespace sluice::cli
