// The fastest rates that any copy or update of a job can have on a machine: what bounds rest on.
#pragma once

#include <vector>

#include "planner/costs/cost_model.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

struct FastestRates {
  double h2d = 0, d2h = 0;               ///< Bytes/s, of copies of any size.
  double disk_read = 0, disk_write = 0;  ///< 0 where the machine states none.
  double update = 0;                     ///< Parameters/s, of any number of threads.
  double update_cores = 0;               ///< Core-seconds a parameter, the least.
  std::vector<double> update_of;         ///< Parameters/s of 1, 2, ... threads.
};
[[nodiscard]] FastestRates fastest_rates(const Job& job, const ProfileCostModel& costs);

}  // namespace sluice::planner
