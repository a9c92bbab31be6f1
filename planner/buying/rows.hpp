// Rows of `sluice buy`: machines, each with its prediction for one job.
#pragma once

#include <vector>

#include "planner/buying/plan_finder.hpp"
#include "planner/buying/report.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Rows of the request's machines or, where it names none and prices parts, of builds and of the
/// catalogue's machines that have a price of their own; and of machines that need more memory with
/// that memory added; first those on which the job fits, fastest first.
[[nodiscard]] ComparedRows buy_rows(const RunConfig& config, const BuyRequest& request,
                                    PlanFinder& finder);

}  // namespace sluice::planner
