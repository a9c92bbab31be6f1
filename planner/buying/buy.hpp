// Which machine to buy or rent for a job.
#pragma once

#include <vector>

#include "planner/buying/report.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// `config.machine` is the base of upgrades and elasticity, and a row; where it is the default
/// ("here") and not owned, the machine the verdict is about. Throws BadRequest for an unknown
/// machine.
[[nodiscard]] BuyReport buy(const RunConfig& config, const BuyRequest& request);

/// The rows of an earlier report under another budget or number of days.
[[nodiscard]] BuyReport advise(const RunConfig& config, const BuyRequest& request,
                               std::vector<BuyRow> rows);

}  // namespace sluice::planner
