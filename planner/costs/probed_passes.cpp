#include "planner/costs/probed_passes.hpp"

#include <cmath>

#include "planner/costs/cost_family.hpp"
#include "planner/costs/cost_key.hpp"

namespace sluice::planner {

Calibration probed_passes(const MachineProfile& profile) {
  Calibration probed;
  for (const MeasuredPass& pass : profile.passes) {
    CalibrationSample sample;
    sample.key = CostKey{pass.key};
    sample.value = pass.time.count();
    sample.deviation = pass.deviation.count();
    sample.count = pass.count;
    // Repeating does not average out what differs from minute to minute.
    sample.deviation = sample.value * std::hypot(relative_deviation(sample), kProbeDeviation);
    sample.count = 1;
    sample.source = kProbeSource;
    probed.emplace(sample.key, std::move(sample));
  }
  return probed;
}

std::optional<ProbedPass> probed_pass(const CostKey& key) {
  Job any;
  any.model.layers = 1;
  const std::optional<NamedPass> named = pass_named_by(key);
  const std::optional<Job> job = job_named_by(key, any);
  if (!named || !job) return std::nullopt;
  const std::size_t unit = named->unit == UnitKind::embed   ? 0
                           : named->unit == UnitKind::block ? 1
                                                            : 2;
  if (compute_key(*job, named->pass, unit) != key) return std::nullopt;
  return ProbedPass{*job, named->pass, unit};
}

}  // namespace sluice::planner
