// Break-even of buying a machine against renting one, in months of use.
#pragma once

#include <string>
#include <vector>

#include "planner/buying/report.hpp"

namespace sluice::planner {

/// Days of an average month.
inline constexpr double kDaysPerMonth = 365.2425 / 12;
/// Months for which a bought machine is counted to be kept.
inline constexpr double kMonthsKept = 36;

/// Throws BadRequest naming the field, with `dashes` before its name, where numbers of `use` are
/// out of range or runs a month and a share of the time are both stated.
void check_use(const MachineUse& use, const std::string& dashes = "");

/// The cost of a run of the request's tokens on `bought`, by its parts and prices.
[[nodiscard]] RunCost run_cost(const BuyRow& bought, const BuyRequest& request);

/// Break-even of `bought` against `rented`, both with prices and days.
[[nodiscard]] BreakEven break_even(const BuyRow& bought, const BuyRow& rented,
                                   const BuyRequest& request);

/// Whether the request states a use and buying pays within kMonthsKept.
[[nodiscard]] bool pays_in_time(const BreakEven& pays, const BuyRequest& request);

/// The row to buy, within days and budget, that pays soonest against `rented`; null where none
/// does.
[[nodiscard]] const BuyRow* soonest_to_pay(const std::vector<BuyRow>& rows,
                                           const BuyRequest& request, const BuyRow& rented);

/// Months in words, with the interval and, where the request has today's date, the month in which
/// they end: "14 months (12 to 17; January 2028)".
[[nodiscard]] std::string months_text(const BreakEven& pays, const BuyRequest& request);

/// What would change the advice to rent: the use at which buying pays within kMonthsKept, or how
/// much cheaper the machine, or dearer the rent, would have to be.
[[nodiscard]] std::string unless_text(const BuyRow& bought, const BuyRow& rented,
                                      const BuyRequest& request);

}  // namespace sluice::planner
