// Numbers and rows of a report in the words of its verdict.
#pragma once

#include <string>

#include "planner/buying/report.hpp"

namespace sluice::planner {

[[nodiscard]] std::string decimal(double value, int digits);    ///< "3.14"
[[nodiscard]] std::string dollars(double value);                ///< "12,345 USD"
[[nodiscard]] std::string days_text(double days);               ///< "3.9 days", "23.9 hours"
[[nodiscard]] std::string days_range(double low, double high);  ///< "4.6 to 5.6 days".
/// How long the tokens take, with the interval; or tokens/s where none were given.
[[nodiscard]] std::string time_text(const BuyRow& row);
/// Renting a machine that has a price by the hour, and the host memory it must come with.
[[nodiscard]] std::string rent_text(const BuyRow& row);
/// Buying one, and what it is sold with.
[[nodiscard]] std::string buy_text(const BuyRow& row);

}  // namespace sluice::planner
