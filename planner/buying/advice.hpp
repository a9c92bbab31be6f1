// The verdict of `sluice buy`: advice on the rows of its report, conclusion first.
#pragma once

#include <string>
#include <vector>

#include "planner/buying/report.hpp"

namespace sluice::planner {

/// Sentences that advise on the report's rows, upgrades and elasticity: whether to rent or buy and
/// which machine, what the other choice would cost, what binds, what to add, and how sure this is.
[[nodiscard]] std::vector<std::string> verdict(const BuyReport& report, const BuyRequest& request);

}  // namespace sluice::planner
