// Rates of CPU updates beside copies that share the host's memory and cores.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/costs/cost_model.hpp"
#include "planner/costs/fastest_rates.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// Rates of a CPU update and of copies while they run at the same time, each as a share of the
/// fastest rate that it can have (FastestRates).
struct SharedRates {
  /// Rate of a CPU update beside copies, over that of the fastest update (FastestRates::update).
  double update = 0;
  /// Rate of a copy beside a CPU update, in each direction, over that of the fastest copy in it; 0
  /// where no copy runs in it.
  double h2d = 0, d2h = 0;
  /// Whether the compute lane runs at the same time as the update and the copies.
  bool computes = false;
};

/// Rates of a CPU update beside copies, by the simulator's sharing of links and interference: for
/// each number of threads that `fastest` has an entry each for copies to the device, from it and
/// both, with the compute lane idle and busy. None where copies or updates of different sizes
/// differ in rate or weight, as calibrated ones may, and where the device is the host, whose passes
/// use its cores.
[[nodiscard]] std::optional<std::vector<SharedRates>> shared_rates(const Job& job,
                                                                   const ProfileCostModel& costs,
                                                                   const FastestRates& fastest);

}  // namespace sluice::planner
