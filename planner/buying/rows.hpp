// The rows of `sluice buy`: machines predicted for one job.
#pragma once

#include <vector>

#include "planner/buying/report.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Of the request's machines, those that need more memory with it, and resident nodes; fitting ones
/// first, fastest first.
[[nodiscard]] std::vector<BuyRow> buy_rows(const RunConfig& config, const BuyRequest& request);

}  // namespace sluice::planner
