// Which machine to buy or rent for a job.
#pragma once

#include <vector>

#include "planner/buying/report.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Compares machines for a job. `config.machine` is a row and the base of upgrades and elasticity;
/// where it is the default ("here") and not owned, the base is the machine that the verdict is
/// about. Throws BadRequest for an unknown machine.
[[nodiscard]] BuyReport buy(const RunConfig& config, const BuyRequest& request);

/// The report on the rows of an earlier report, for another budget or number of days.
[[nodiscard]] BuyReport advise(const RunConfig& config, const BuyRequest& request,
                               std::vector<BuyRow> rows);

}  // namespace sluice::planner
