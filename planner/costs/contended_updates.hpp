// Slowdown of CPU updates by copies that share the host's memory and cores.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/costs/cost_model.hpp"
#include "planner/costs/fastest_rates.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

/// Rates of an update and of the copies that run at the same time.
struct SharedRates {
  double update = 0;  ///< Rate of the update over the fastest update's rate.
  /// Rates of the copies over the fastest copies' rates; 0 in a direction without a copy.
  double h2d = 0, d2h = 0;
  bool computes = false;  ///< Whether the device computes at the same time.
};

/// Rates of an update on every number of threads, beside copies in either direction and in both,
/// with the device computing and not, by the simulator's sharing and interference. None where
/// copies or updates of different sizes differ in rate or weight, as calibrated ones may, and where
/// the device is the host, whose passes use its cores.
[[nodiscard]] std::optional<std::vector<SharedRates>> shared_rates(const Job& job,
                                                                   const ProfileCostModel& costs,
                                                                   const FastestRates& fastest);

}  // namespace sluice::planner
