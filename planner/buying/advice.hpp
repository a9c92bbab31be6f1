// The verdict of `sluice buy`: advice on its rows, the conclusion first.
#pragma once

#include <string>
#include <vector>

#include "planner/buying/report.hpp"

namespace sluice::planner {

/// Sentences on the report's rows, upgrades and elasticity: whether to rent or buy and which, what
/// the other would cost, what binds, what to add, and how sure this is.
[[nodiscard]] std::vector<std::string> verdict(const BuyReport& report, const BuyRequest& request);

}  // namespace sluice::planner
