// The fastest rates that any copy or update of a job can have on a machine. Bounds rest on them.
#pragma once

#include <vector>

#include "planner/costs/cost_model.hpp"
#include "planner/models/job.hpp"

namespace sluice::planner {

struct FastestRates {
  double h2d = 0, d2h = 0;  ///< Bytes/s of the fastest copies of any size, in each direction.
  /// Bytes/s of the fastest disk transfers; 0 where the machine states none.
  double disk_read = 0, disk_write = 0;
  double update = 0;  ///< Parameters/s of the fastest CPU update, over all numbers of threads.
  /// Core-seconds a parameter of the CPU update that uses cores least, over all numbers of threads.
  double update_cores = 0;
  /// Parameters/s of the fastest CPU update with i + 1 threads, at index i.
  std::vector<double> update_of;
};
/// The fastest rates of a job; with several `ranks` those of one of them, which update at the same
/// time: threads are those of one rank, and an update's rate is that of one rank's parameters.
[[nodiscard]] FastestRates fastest_rates(const Job& job, const ProfileCostModel& costs,
                                         std::int64_t ranks = 1);

}  // namespace sluice::planner
