// Break-even of buying a machine against renting one, in months of use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/buying/report.hpp"

namespace sluice::planner {

/// Days of an average month.
inline constexpr double kDaysPerMonth = 365.2425 / 12;
/// Months for which a bought machine is counted to be kept.
inline constexpr double kMonthsKept = 36;

/// A number with its 90 % interval.
struct Range {
  double usual = 0, low = 0, high = 0;
};

/// What running the request's tokens once on a bought machine costs, in USD.
struct RunCost {
  /// Watts of GPU and CPU (PowerRule); none where the machine's parts are not known.
  std::optional<Range> watts = {};
  Range energy_usd = {};  ///< 0 where watts or the price of electricity are not known.
  double drives_usd = 0;  ///< Share of the drives' price that the run wears out.
};
[[nodiscard]] RunCost run_cost(const BuyRow& bought, const BuyRequest& request);

/// Break-even of a bought machine against a rented one:
///
///   months = price x (1 - resale) / (runs a month x (rent of a run - energy and worn drives))
struct BreakEven {
  double runs_per_month = 0;
  /// Whether more runs a month were asked for than the machine can do; `runs_per_month` is then
  /// what it can.
  bool is_capped = false;
  /// Whether the request states how much the machine works; else it works without a pause.
  bool is_stated = false;
  RunCost run = {};
  /// Months until buying has paid, with the 90 % intervals of both runs' times and of the watts;
  /// none where a run costs more on the bought machine than rented.
  std::optional<double> months = {}, months_low = {}, months_high = {};
};

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
