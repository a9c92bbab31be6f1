// The rates that the simulator gives copies and the CPU optimizer when they run together for long.
#pragma once

#include <cstdint>

#include "planner/costs/cost_model.hpp"
#include "profiler/probe/contention_grid.hpp"

namespace sluice::profiler {

struct ContentionRates {
  double update = 0;        ///< Parameters/s; 0 for 0 threads.
  double h2d = 0, d2h = 0;  ///< Bytes/s; 0 in a direction without copies.
};

/// Rates of a long simulation of these loads: costs, weights and uses are those of `model`,
/// interference lowers caps, and links are shared by sim::FairShare. So predictions of steps
/// contain exactly what the fit predicts.
[[nodiscard]] ContentionRates contention_rates(const planner::ProfileCostModel& model,
                                               std::int64_t threads, Copies copies);

}  // namespace sluice::profiler
