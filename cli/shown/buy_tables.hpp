// What `sluice buy` prints: verdict, rows, and upgrades of one machine, within 100 columns.
#pragma once

#include <string>

#include "planner/buying/report.hpp"

namespace sluice::cli {

/// `text` with its lines broken at blanks so that none has more than 100 characters; continued
/// lines begin with `indent` more blanks than the line they continue. A word that is longer stays
/// whole.
[[nodiscard]] std::string in_columns(const std::string& text, std::size_t indent = 2);

/// The verdict, the rows, and what is known of the base machine.
[[nodiscard]] std::string report_text(const planner::BuyReport& report);
/// The report for one more budget, in USD, without the rows, which are printed once.
[[nodiscard]] std::string advice_text(const planner::BuyReport& report, double budget);

}  // namespace sluice::cli
