// Numbers and rows of a report in the words of its verdict.
#pragma once

#include <string>

#include "planner/buying/report.hpp"

namespace sluice::planner {

/// A number with `digits` decimals, such as "3.14".
[[nodiscard]] std::string decimal(double value, int digits);
[[nodiscard]] std::string dollars(double value);  ///< An amount such as "12,345 USD".
/// A duration such as "3.9 days" or "23.9 hours".
[[nodiscard]] std::string days_text(double days);
/// A range such as "4.6 to 5.6 days".
[[nodiscard]] std::string days_range(double low, double high);
/// How long the request's tokens take, with the interval; tokens/s where no tokens were given.
[[nodiscard]] std::string time_text(const BuyRow& row);
/// What renting the machine costs by the hour, and the host memory that it must come with.
[[nodiscard]] std::string rent_text(const BuyRow& row);
/// What buying the machine costs, and what it is sold with.
[[nodiscard]] std::string buy_text(const BuyRow& row);

}  // namespace sluice::planner
