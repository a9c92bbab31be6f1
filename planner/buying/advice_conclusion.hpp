// Conclusion of `sluice buy`: keep, rent or buy, and which machine.
#pragma once

#include <string>
#include <vector>

#include "planner/buying/report.hpp"

namespace sluice::planner {

/// The first sentences of a verdict: what to do, and what the other choice would cost.
[[nodiscard]] std::vector<std::string> conclusion(const BuyReport& report,
                                                  const BuyRequest& request);

/// The row of the machine called `machine` with the parts that its catalogue entry or file states
/// (RowKind::machine), not the row with more memory; null where there is none.
[[nodiscard]] const BuyRow* find_row(const std::vector<BuyRow>& rows, const std::string& machine);

}  // namespace sluice::planner
