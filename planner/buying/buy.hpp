// Which machine to buy or rent for a job.
#pragma once

#include <vector>

#include "planner/buying/plan_finder.hpp"
#include "planner/buying/report.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Compares machines for a job, with the plans that `finder` finds. `config.machine` becomes a row,
/// and upgrades and elasticity start from it; where it is the default ("here") and the user does
/// not own it, they start from the machine that the verdict advises. Throws BadRequest for an
/// unknown machine.
[[nodiscard]] BuyReport buy(const RunConfig& config, const BuyRequest& request, PlanFinder& finder);

/// The same with a finder of its own.
[[nodiscard]] BuyReport buy(const RunConfig& config, const BuyRequest& request);

/// Report on `rows`, those of an earlier report for the same run, for another budget or another
/// number of days. `builds` counts the builds that were searched for them.
[[nodiscard]] BuyReport advise(const RunConfig& config, const BuyRequest& request,
                               PlanFinder& finder, std::vector<BuyRow> rows,
                               const BuildCounts& builds = {});

}  // namespace sluice::planner
