// What to change about one machine: orders, a larger batch, and what its step depends on.
#pragma once

#include "planner/buying/plan_finder.hpp"
#include "planner/buying/report.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Adds to `report` advice on the machine of `config`: what each of its rates and memories is worth
/// (elasticities), batches that cost nothing and, unless it is `rented`, orders of parts with what
/// they are worth. Where the job does not fit, orders alone. Throws BadRequest where the run turns
/// off terms of the model of time.
void add_base(BuyReport& report, const RunConfig& config, const BuyRequest& request,
              PlanFinder& finder, bool rented);

}  // namespace sluice::planner
