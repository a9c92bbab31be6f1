// Flags about tokens and money, shared by predict and buy.
#pragma once

#include <optional>
#include <string>

#include "planner/requests/run_arguments.hpp"

namespace sluice::cli {

/// Value of --tokens: "10G", "10B" (billion), "1.5T", "2e9". Throws BadRequest.
[[nodiscard]] std::optional<double> token_count(const planner::RunArguments& request);

/// Value of a flag that must be a number above 0; none if the flag is absent. Throws BadRequest.
[[nodiscard]] std::optional<double> positive_number(const planner::RunArguments& request,
                                                    const char* flag);

}  // namespace sluice::cli
