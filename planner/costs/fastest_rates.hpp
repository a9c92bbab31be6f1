// The fastest rates that any copy or update of a job can have on a machine: bounds rest on them.
#pragma once

#include <vector>

#include "planner/costs/cost_model.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

struct FastestRates {
  double h2d = 0, d2h = 0;  ///< Bytes/s of copies of any size.
  /// Bytes/s of disk transfers; 0 where the machine states none.
  double disk_read = 0, disk_write = 0;
  double update = 0;        ///< Parameters/s of a CPU update with any number of threads.
  double update_cores = 0;  ///< Smallest use of cores of a CPU update, in core-seconds a parameter.
  std::vector<double> update_of;  ///< Parameters/s of a CPU update with 1, 2, ... threads.
};
[[nodiscard]] FastestRates fastest_rates(const Job& job, const ProfileCostModel& costs);

}  // namespace sluice::planner
