// Rates that the simulator gives to copies and the CPU optimizer when they run together for long.
#pragma once

#include <cstdint>

#include "planner/costs/cost_model.hpp"
#include "profiler/probe/contention_grid.hpp"

namespace sluice::profiler {

struct ContentionRates {
  double update = 0;  ///< Parameters/s of the CPU optimizer; 0 where it has 0 threads.
  /// Bytes/s of copies in each direction; 0 in a direction without copies.
  double h2d = 0, d2h = 0;
};

/// Rates of a long simulation of the CPU optimizer on `threads` threads and `copies`: costs,
/// weights and uses are those of `model`, interference lowers caps, and links are shared by
/// sim::FairShare. So predictions of steps contain exactly what the fit predicts.
[[nodiscard]] ContentionRates contention_rates(const planner::ProfileCostModel& model,
                                               std::int64_t threads, Copies copies);

}  // namespace sluice::profiler
