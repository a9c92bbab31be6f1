#include "planner/costs/job_calibration.hpp"

#include <utility>

#include "planner/costs/device_updates.hpp"
#include "planner/costs/launch_delay.hpp"
#include "planner/costs/pooled_updates.hpp"
#include "planner/costs/sibling_costs.hpp"

namespace sluice::planner {

Calibration job_calibration(const Job& job, const MachineProfile& profile,
                            Calibration calibration) {
  return with_launch_delays(
      job, profile,
      with_pooled_updates(
          profile,
          with_device_updates(job, profile, with_siblings(job, profile, std::move(calibration)))));
}

}  // namespace sluice::planner
