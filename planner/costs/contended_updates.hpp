// What CPU updates lose to copies by what they share: the host's memory and cores.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/costs/cost_model.hpp"
#include "planner/costs/fastest_rates.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// How fast an update and copies beside it are, while they run together.
struct SharedRates {
  double update = 0;        ///< Parts of the fastest update's rate,
  double h2d = 0, d2h = 0;  ///< and of the fastest copies'; 0 of what does not run.
  bool computes = false;    ///< Whether the device does.
};

/// Of an update on every number of threads beside copies of each way and of both, with the device
/// computing and not: shares and interference as simulations have them. None where copies or
/// updates of several sizes differ in rate or weight, as calibrated ones do, for then some may run
/// beside others at no loss; and where the device is the host, whose passes take of the cores.
[[nodiscard]] std::optional<std::vector<SharedRates>> shared_rates(const Job& job,
                                                                   const ProfileCostModel& costs,
                                                                   const FastestRates& fastest);

}  // namespace sluice::planner
