// What a good engineer would say of the rows: the conclusion first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/buy.hpp"

namespace sluice::planner {

/// The machine to buy: of those that fit, within days and budget where they are stated, the
/// fastest; where prices are known, none that costs less and takes at most 1.1 times as long. None
/// where nothing fits within them: then the cheapest, else the fastest that fits.
[[nodiscard]] std::optional<std::string> advised_machine(const std::vector<BuyRow>& rows,
                                                         const BuyRequest& request);

/// Sentences for report.rows, upgrades and elasticity: rent or buy and which, what the other would
/// cost, what binds, what to add, how sure this is.
[[nodiscard]] std::vector<std::string> verdict(const BuyReport& report, const BuyRequest& request);

}  // namespace sluice::planner
