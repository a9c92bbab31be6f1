// Rows of builds that the search over builds found for a job.
#pragma once

#include <vector>

#include "planner/buying/build_space.hpp"
#include "planner/buying/plan_finder.hpp"
#include "planner/buying/report.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Rows of builds of `groups`, cheapest first: those of which no build planned is both cheaper and
/// faster, and for each GPU planned the cheapest and the fastest within each budget. Builds whose
/// host memory is short lend their drives, less what the model's folder and two checkpoints take,
/// unless the run states how much of the disk it may use.
[[nodiscard]] ComparedRows build_rows(const RunConfig& config, const BuyRequest& request,
                                      PlanFinder& finder, const std::vector<BuildGroup>& groups);

}  // namespace sluice::planner
