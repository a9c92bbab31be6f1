#include "planner/sibling_costs.hpp"

#include <array>
#include <optional>

#include "planner/cost_key.hpp"
#include "planner/cost_model.hpp"

namespace sluice::planner {
namespace {

constexpr double kDeviation = 0.05;
/// In the order in which a missing pass looks for a measured one.
constexpr std::array kPasses{Pass::block_forward, Pass::block_recompute_input,
                             Pass::block_recompute_selective, Pass::block_backward};

}  // namespace

Calibration with_siblings(const Job& job, const MachineProfile& profile, Calibration calibration) {
  const ProfileCostModel uncalibrated(profile, {});
  const auto profile_time = [&](Pass pass) {
    return uncalibrated.compute(compute_key(job, pass, 1), work_of(job, pass, 1)).amount.count();
  };
  std::optional<double> scale;
  for (const Pass pass : kPasses) {
    const auto found = calibration.find(compute_key(job, pass, 1));
    if (found == calibration.end() || !(profile_time(pass) > 0)) continue;
    scale = found->second.value / profile_time(pass);
    break;
  }
  if (!scale) return calibration;
  for (const Pass pass : kPasses) {
    CalibrationSample sample;
    sample.key = compute_key(job, pass, 1);
    sample.value = profile_time(pass) * *scale;
    sample.deviation = sample.value * kDeviation;
    sample.source = kSiblingSource;
    calibration.emplace(sample.key, sample);  // Keeps a measured one.
  }
  return calibration;
}

}  // namespace sluice::planner
