#include "planner/costs/rescaled_calibration.hpp"

#include <algorithm>
#include <optional>

#include "planner/costs/cost_model.hpp"
#include "planner/costs/lane_interference.hpp"

namespace sluice::planner {
namespace {

/// Factor by which a task takes longer when the fact behind its time goes from `before` to `after`.
template <class Quantity>
double slower(const Measured<Quantity>& before, const Measured<Quantity>& after) {
  return before.value > Quantity{} && after.value > Quantity{} ? before.value / after.value : 1;
}

double slower_gemm(const MachineProfile& before, const MachineProfile& after) {
  if (before.gemm.empty() || after.gemm.empty()) return 1;
  return slower(before.gemm.back().rate, after.gemm.back().rate);
}

double slower_update(const MachineProfile& before, const MachineProfile& after) {
  if (before.update.empty() || after.update.empty()) return 1;
  return slower(before.update.rbegin()->second, after.update.rbegin()->second);
}

/// Rate of copies on `changed` over that on `measured`, at most 1, for an interference sample or a
/// launch delay that copies cause; else 1.
double copies_share(const CostKey& key, const MachineProfile& measured,
                    const MachineProfile& changed) {
  const std::optional<LaneKind> lane = slowing_lane(key);
  if (lane == LaneKind::h2d) return std::min(1.0, 1 / slower(measured.h2d, changed.h2d));
  if (lane == LaneKind::d2h) return std::min(1.0, 1 / slower(measured.d2h, changed.d2h));
  return 1;
}

/// Factor by which the cost `key`, in seconds, grows when the facts behind it go from `before` to
/// `after`.
double slower_task(const CostKey& key, const MachineProfile& before, const MachineProfile& after) {
  switch (key.kind()) {
    case CostKind::copy_h2d:
      return slower(before.h2d, after.h2d);
    case CostKind::copy_d2h:
      return slower(before.d2h, after.d2h);
    case CostKind::copy_disk_read:
      return slower(before.disk_read, after.disk_read);
    case CostKind::copy_disk_write:
      return slower(before.disk_write, after.disk_write);
    case CostKind::cpu_update:
      return slower_update(before, after);
    case CostKind::device_update:
      return slower(before.device_update, after.device_update);
    case CostKind::launch:
      return 1 / slower(before.launch, after.launch);
    case CostKind::launch_delay:
      return copies_share(key, before, after);
    case CostKind::data:
    case CostKind::interference:
    // The device's clocks and queues stay as they are.
    case CostKind::hand_off:
    case CostKind::boost:
      return 1;
    case CostKind::pass:
    case CostKind::block_update:
    case CostKind::collective:
    case CostKind::host_pass:
      break;
  }
  return slower_gemm(before, after);
}

}  // namespace

Calibration rescaled(const Calibration& calibration, const MachineProfile& measured,
                     const MachineProfile& changed) {
  Calibration result = calibration;
  for (auto& [key, sample] : result) {
    if (key.kind() == CostKind::interference) {
      // Copies slow other lanes in proportion to the bytes that pass.
      const double share = copies_share(key, measured, changed);
      sample.value = 1 - (1 - sample.value) * share;
      sample.deviation *= share;
      continue;
    }
    const double factor = slower_task(key, measured, changed);
    const double scale = is_rate(key) ? 1 / factor : factor;
    sample.value *= scale;
    sample.deviation *= scale;
  }
  return result;
}

}  // namespace sluice::planner
