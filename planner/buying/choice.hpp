// Which row to buy, and which to rent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/buying/report.hpp"

namespace sluice::planner {

// Each is null where no row will do. Rows come fastest first. Resident nodes are bounds, not
// offers, and are never chosen.

/// Of those that fit (`within`: also days and budget), the fastest; none that costs less and takes
/// at most 1.1 times as long.
[[nodiscard]] const BuyRow* best_to_buy(const std::vector<BuyRow>& rows, const BuyRequest& request,
                                        bool within);
[[nodiscard]] const BuyRow* cheapest_to_buy(const std::vector<BuyRow>& rows,
                                            const BuyRequest& request);
/// Least dollars times days: what to look at where nothing is within the budget.
[[nodiscard]] const BuyRow* best_for_the_money(const std::vector<BuyRow>& rows,
                                               const BuyRequest& request);
/// In the days asked for.
[[nodiscard]] const BuyRow* cheapest_to_rent(const std::vector<BuyRow>& rows,
                                             const BuyRequest& request);
/// The fastest to rent that costs at most twice as much and takes half as long.
[[nodiscard]] const BuyRow* faster_to_rent(const std::vector<BuyRow>& rows,
                                           const BuyRequest& request, const BuyRow& cheapest);

/// The machine to buy: of those that fit, within days and budget where they are stated, the
/// fastest; where prices are known, none that costs less and takes at most 1.1 times as long. None
/// where nothing fits within them: then the best for the money, else the fastest that fits.
[[nodiscard]] std::optional<std::string> advised_machine(const std::vector<BuyRow>& rows,
                                                         const BuyRequest& request);

}  // namespace sluice::planner
