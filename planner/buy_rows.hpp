// The rows of `sluice buy`: machines predicted for one job.
#pragma once

#include <functional>
#include <vector>

#include "planner/buy.hpp"

namespace sluice::planner {

/// Of every search here: which machine is faster shows long before which plan is best.
inline constexpr std::int64_t kRankEffort = 150'000;

/// Of the request's machines, those that need more memory with it, and resident nodes; fitting ones
/// first, fastest first.
[[nodiscard]] std::vector<BuyRow> buy_rows(const RunConfig& config, const BuyRequest& request);

}  // namespace sluice::planner
