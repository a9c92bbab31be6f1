#include "planner/explanation/elasticity.hpp"

#include <cmath>

#include "planner/explanation/machine_resources.hpp"

namespace sluice::planner {

std::vector<Elasticity> elasticities(const Predictor& predictor, const Calibration& calibration,
                                     const Plan& plan) {
  constexpr double kMore = 1.1;
  std::vector<Elasticity> all;
  const Duration before = predictor.score(plan).step;
  if (before.count() == 0) return all;
  for (const MachineResource& resource : resources_of(plan)) {
    if (resource.kind != ResourceKind::rate) continue;
    const Duration after =
        predictor_with_more(predictor, calibration, resource, kMore).score(plan).step;
    if (after.count() == 0) continue;
    all.push_back({resource.name, resource.meaning,
                   std::log(to_seconds(after) / to_seconds(before)) / std::log(kMore)});
  }
  return all;
}

}  // namespace sluice::planner
