// Flags about tokens and money that predict and buy share.
#pragma once

#include <optional>
#include <string>

#include "planner/requests/run_arguments.hpp"

namespace sluice::cli {

/// --tokens: "10G", "10B" (billion), "1.5T", "2e9". Throws BadRequest.
[[nodiscard]] std::optional<double> token_count(const planner::RunArguments& request);

/// A flag that is a number above 0.
[[nodiscard]] std::optional<double> positive_number(const planner::RunArguments& request,
                                                    const char* flag);

}  // namespace sluice::cli
