#include "planner/costs/launch_delay.hpp"

#include <utility>

#include "planner/costs/cost_key.hpp"
#include "planner/costs/cost_model.hpp"
#include "planner/costs/lane_interference.hpp"
#include "planner/machines/lane.hpp"
#include "planner/models/unit_classes.hpp"

namespace sluice::planner {
namespace {

/// Kernels per second in one micro-batch's passes over blocks and its loss.
double kernel_rate(const Job& job, const MachineProfile& profile, const Calibration& calibration) {
  const ProfileCostModel uncalibrated(profile, {});
  const std::size_t head = unit_count(job.model) - 1;
  double kernels = 0, seconds = 0;
  const auto add = [&](Pass pass, std::size_t unit, double times) {
    const CostKey key = compute_key(job, pass, unit);
    const Work work = work_of(job, pass, unit);
    const auto known = calibration.find(key);
    kernels += times * static_cast<double>(work.kernels);
    seconds +=
        times * (known != calibration.end() ? known->second.value
                                            : uncalibrated.compute(key, work).amount.count());
  };
  for (const BlockClass& each : block_classes(job.model)) {
    add(Pass::block_forward, each.unit, static_cast<double>(each.layers));
    add(Pass::block_backward, each.unit, static_cast<double>(each.layers));
  }
  add(Pass::loss, head, 1);
  return seconds > 0 ? kernels / seconds : 0;
}

}  // namespace

CostKey launch_delay_key(CopyDirection direction) {
  return CostKey(CostKind::launch_delay, direction == CopyDirection::h2d ? "h2d" : "d2h");
}

Calibration with_launch_delays(const Job& job, const MachineProfile& profile,
                               Calibration calibration) {
  const auto known = [&](CopyDirection direction) {
    return calibration.contains(launch_delay_key(direction));
  };
  if (!known(CopyDirection::h2d) && !known(CopyDirection::d2h)) return calibration;
  const double rate = kernel_rate(job, profile, calibration);
  for (const auto& [direction, lane] : {std::pair(CopyDirection::h2d, LaneKind::h2d),
                                        std::pair(CopyDirection::d2h, LaneKind::d2h)}) {
    const auto delay = calibration.find(launch_delay_key(direction));
    if (delay == calibration.end()) continue;
    CalibrationSample sample = delay->second;
    sample.key = interference_key(LaneKind::compute, lane);
    double factor = 1;
    for (const auto& each : lane_interference(profile, calibration, 0)) {
      if (each.on == LaneKind::compute && each.from == lane) factor = each.factor;
    }
    sample.value = factor / (1 + delay->second.value * rate);
    calibration[sample.key] = std::move(sample);
  }
  return calibration;
}

}  // namespace sluice::planner
