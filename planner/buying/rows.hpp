// The rows of `sluice buy`: machines predicted for one job.
#pragma once

#include <vector>

#include "planner/buying/report.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Rows of the request's machines, of those that need more memory with it added, and of resident
/// nodes; those that fit first, fastest first.
[[nodiscard]] std::vector<BuyRow> buy_rows(const RunConfig& config, const BuyRequest& request);

}  // namespace sluice::planner
