#include "planner/costs/device_updates.hpp"

#include <cstddef>

#include "planner/costs/cost_family.hpp"
#include "planner/costs/cost_key.hpp"
#include "planner/costs/cost_parts.hpp"
#include "planner/costs/probed_passes.hpp"
#include "planner/models/unit_classes.hpp"

namespace sluice::planner {

Calibration with_device_updates(const Job& job, const MachineProfile& profile,
                                Calibration calibration) {
  Calibration known = calibration;
  bool probed = false;
  for (const auto& [key, sample] : probed_passes(profile)) {
    if (key.kind() != CostKind::device_update) continue;
    known.emplace(key, sample);
    probed = true;
  }
  if (!probed) return calibration;
  const FamilyRate stated{profile.device_update.value, deviation_of(profile.device_update)};
  for (const std::size_t unit : representatives(job.model)) {
    const CostKey key = device_update_key(job, unit_padded_size(job.model, unit));
    if (const auto found = known.find(key); found != known.end()) {
      calibration.emplace(key, found->second);
    } else if (const auto fit = from_family(known, key, stated)) {
      CalibrationSample sample;
      sample.key = key;
      sample.value = fit->seconds;
      sample.deviation = fit->seconds * fit->relative_deviation;
      sample.source = kSiblingSource;
      calibration.emplace(key, std::move(sample));
    }
  }
  return calibration;
}

}  // namespace sluice::planner
