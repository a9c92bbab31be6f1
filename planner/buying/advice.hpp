// What a good engineer would say of the rows: the conclusion first.
#pragma once

#include <string>
#include <vector>

#include "planner/buying/report.hpp"

namespace sluice::planner {

/// Sentences for report.rows, upgrades and elasticity: rent or buy and which, what the other would
/// cost, what binds, what to add, how sure this is.
[[nodiscard]] std::vector<std::string> verdict(const BuyReport& report, const BuyRequest& request);

}  // namespace sluice::planner
