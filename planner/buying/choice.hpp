// The choice of a row to buy, and of one to rent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/buying/report.hpp"

namespace sluice::planner {

// Each function returns null where no row will do. Rows come fastest first. Resident nodes are
// bounds, not offers, and are never chosen.

/// The row to buy: the fastest that fits (`within`: also days and budget), or one that costs less
/// and takes at most 1.1 times as long.
[[nodiscard]] const BuyRow* best_to_buy(const std::vector<BuyRow>& rows, const BuyRequest& request,
                                        bool within);
[[nodiscard]] const BuyRow* cheapest_to_buy(const std::vector<BuyRow>& rows,
                                            const BuyRequest& request);
/// The row of the least dollars times days, for a budget that nothing is within.
[[nodiscard]] const BuyRow* best_for_the_money(const std::vector<BuyRow>& rows,
                                               const BuyRequest& request);
/// The row of least rent, within the days asked for.
[[nodiscard]] const BuyRow* cheapest_to_rent(const std::vector<BuyRow>& rows,
                                             const BuyRequest& request);
/// The fastest row to rent that costs at most twice as much as `cheapest` and takes at most half as
/// long.
[[nodiscard]] const BuyRow* faster_to_rent(const std::vector<BuyRow>& rows,
                                           const BuyRequest& request, const BuyRow& cheapest);

/// The machine to buy: the fastest that fits within days and budget, where they are stated, or one
/// that costs less and takes at most 1.1 times as long; where none is within them, the best for the
/// money, else the fastest that fits. None where nothing fits.
[[nodiscard]] std::optional<std::string> advised_machine(const std::vector<BuyRow>& rows,
                                                         const BuyRequest& request);

}  // namespace sluice::planner
