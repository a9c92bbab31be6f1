// The rates that the simulator gives copies and the CPU optimizer when they run together for long.
#pragma once

#include <cstdint>

#include "planner/costs/cost_model.hpp"
#include "profiler/probe/contention_grid.hpp"

namespace sluice::profiler {

struct ContentionRates {
  double update = 0;        ///< Parameters/s; 0 where threads is 0.
  double h2d = 0, d2h = 0;  ///< Bytes/s; 0 where the copies have none.
};

/// What a simulation of such tasks arrives at: costs, weights and uses are those of `model`, lane
/// interference lowers caps, and rates are shared by sim::FairShare. Whatever the fit predicts is
/// therefore what predictions of steps will contain.
[[nodiscard]] ContentionRates contention_rates(const planner::ProfileCostModel& model,
                                               std::int64_t threads, Copies copies);

}  // namespace sluice::profiler
