// Texts of a verdict for numbers and rows of a report.
#pragma once

#include <cstdint>
#include <string>

#include "planner/buying/report.hpp"

namespace sluice::planner {

/// `value` with `digits` decimals as text, such as "3.14".
[[nodiscard]] std::string decimal(double value, int digits);
[[nodiscard]] std::string dollars(double value);  ///< Amount of US dollars, such as "12,345 USD".
/// Number of days as text, such as "3.9 days", or "23.9 hours" for less than a day.
[[nodiscard]] std::string days_text(double days);
/// Range of days as text, such as "4.6 to 5.6 days".
[[nodiscard]] std::string days_range(double low, double high);
/// Text that says how long the request's tokens take on the row's machine, with the interval;
/// tokens/s where no tokens were given.
[[nodiscard]] std::string time_text(const BuyRow& row);
/// GiB of host memory that a run on the row's machine takes at its most, rounded up; the row must
/// have `phases`.
[[nodiscard]] std::int64_t host_gib(const BuyRow& row);
/// Text that says what the row's machine rents for by the hour, and the host memory that it must
/// come with.
[[nodiscard]] std::string rent_text(const BuyRow& row);
/// " (2 CPUs and 16 modules)" for a machine named by its parts that has several sockets; else "".
[[nodiscard]] std::string sockets_text(const std::string& machine);
/// Text that says what the row's machine costs to buy, and what it is sold with.
[[nodiscard]] std::string buy_text(const BuyRow& row);

}  // namespace sluice::planner
