// Choice of a row to buy, and of a row to rent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/buying/report.hpp"

namespace sluice::planner {

// Each of these functions returns null where no row will do. `rows` come fastest first. Resident
// nodes are bounds, not offers, and are never chosen; nor are machines whose GPU the engine cannot
// run on (EngineOnGpu::none).

/// The row to buy, out of `rows` (fastest first): the fastest on which the job fits (with `within`,
/// that also keeps the days and the budget asked for), or of those that take less than 1.1 times as
/// long the one with the least price times step. Null where no row will do; owned machines never
/// do.
[[nodiscard]] const BuyRow* best_to_buy(const std::vector<BuyRow>& rows, const BuyRequest& request,
                                        bool within);
[[nodiscard]] const BuyRow* cheapest_to_buy(const std::vector<BuyRow>& rows,
                                            const BuyRequest& request);
/// The row to buy with the least price times step time, out of those on which the job fits, for a
/// budget that no row is within. Null where none of them has a price.
[[nodiscard]] const BuyRow* best_for_the_money(const std::vector<BuyRow>& rows,
                                               const BuyRequest& request);
/// The row with the least rent for the request's tokens, among those on which the job fits within
/// the days asked for; null where there is none.
[[nodiscard]] const BuyRow* cheapest_to_rent(const std::vector<BuyRow>& rows,
                                             const BuyRequest& request);
/// The fastest row to rent, within the budget, that costs at most twice as much as `cheapest` and
/// takes at most half as long; null where there is none.
/// Where the cheapest rent is of a GPU on which the engine has never run, the cheapest other that
/// costs at most a tenth more and is of one on which it has; else the cheapest other that costs so
/// little. Null where there is none.
[[nodiscard]] const BuyRow* nearly_as_cheap_to_rent(const std::vector<BuyRow>& rows,
                                                    const BuyRequest& request,
                                                    const BuyRow& cheapest);
[[nodiscard]] const BuyRow* faster_to_rent(const std::vector<BuyRow>& rows,
                                           const BuyRequest& request, const BuyRow& cheapest);

/// The row to rent where renting it for the request's tokens costs less than the cheapest machine
/// to buy, and no more than the budget, unless the request states a use at which the machine to buy
/// pays in time (pays_in_time); null where buying is to be advised.
[[nodiscard]] const BuyRow* row_to_rent(const std::vector<BuyRow>& rows, const BuyRequest& request);

/// Name of the machine that the verdict advises: the one to rent (row_to_rent), else the one to
/// buy: the fastest on which the job fits within days and budget, where they are stated, or one
/// that costs less and takes less than 1.1 times as long; where no machine is within them, the best
/// for the money, else the fastest that fits. None where the job fits on none.
[[nodiscard]] std::optional<std::string> advised_machine(const std::vector<BuyRow>& rows,
                                                         const BuyRequest& request);

}  // namespace sluice::planner
