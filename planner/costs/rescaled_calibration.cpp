#include "planner/costs/rescaled_calibration.hpp"

#include <algorithm>
#include <string_view>

#include "planner/costs/cost_model.hpp"

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
/// launch delay that copies cause (`from` is their lane); else 1.
double copies_share(std::string_view from, const MachineProfile& measured,
                    const MachineProfile& changed) {
  const auto slowed_by = [&](std::string_view lane) { return from.starts_with(lane); };
  if (slowed_by("h2d")) return std::min(1.0, 1 / slower(measured.h2d, changed.h2d));
  if (slowed_by("d2h")) return std::min(1.0, 1 / slower(measured.d2h, changed.d2h));
  return 1;
}

}  // namespace

Calibration rescaled(const Calibration& calibration, const MachineProfile& measured,
                     const MachineProfile& changed) {
  Calibration result = calibration;
  for (auto& [key, sample] : result) {
    const std::string_view name = key.name;
    double factor = 1;
    // The device's clocks and queues stay as they are.
    if (name.starts_with("boost/") || name.starts_with("hand_off/")) continue;
    // Copies slow other lanes in proportion to the bytes that pass.
    if (name.starts_with("launch_delay/")) {
      factor = copies_share(name.substr(name.find('/') + 1), measured, changed);
    } else if (name.starts_with("interference/")) {
      const double share =
          copies_share(name.substr(name.find('/', name.find('/') + 1) + 1), measured, changed);
      sample.value = 1 - (1 - sample.value) * share;
      sample.deviation *= share;
      continue;
    } else if (name.starts_with("copy/h2d")) {
      factor = slower(measured.h2d, changed.h2d);
    } else if (name.starts_with("copy/d2h")) {
      factor = slower(measured.d2h, changed.d2h);
    } else if (name.starts_with("copy/disk_read")) {
      factor = slower(measured.disk_read, changed.disk_read);
    } else if (name.starts_with("copy/disk_write")) {
      factor = slower(measured.disk_write, changed.disk_write);
    } else if (name.starts_with("update/cpu")) {
      factor = slower_update(measured, changed);
    } else if (name.starts_with("update/device")) {
      factor = slower(measured.device_update, changed.device_update);
    } else if (name.starts_with("launch/")) {
      factor = 1 / slower(measured.launch, changed.launch);
    } else if (!name.starts_with("data/")) {
      factor = slower_gemm(measured, changed);
    }
    const double scale = is_rate(key) ? 1 / factor : factor;
    sample.value *= scale;
    sample.deviation *= scale;
  }
  return result;
}

}  // namespace sluice::planner
