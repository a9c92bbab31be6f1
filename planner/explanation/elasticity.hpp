// Elasticity of a step: how much less time it takes with a little more of a machine's resource,
// under the same plan.
#pragma once

#include <string>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/plans/plan.hpp"
#include "planner/predictions/predict.hpp"

namespace sluice::planner {

struct Elasticity {
  std::string resource;  ///< The resource's name in JSON, such as "link".
  std::string meaning;  ///< Name of the resource as people read it, such as "link rate, both ways".
  /// Elasticity d ln(step) / d ln(resource): -1 where the whole step is in proportion to one over
  /// the resource, 0 where it does not depend on it.
  double value = 0;
};

/// Elasticities of the step under `plan`, one for each rate of the machine (machine_resources), by
/// simulating the plan with 10 % more of it. Capacities are left out: more memory changes a step
/// only through another plan. Empty where the plan does not fit. `calibration` must be the
/// predictor's.
[[nodiscard]] std::vector<Elasticity> elasticities(const Predictor& predictor,
                                                   const Calibration& calibration,
                                                   const Plan& plan);

}  // namespace sluice::planner
