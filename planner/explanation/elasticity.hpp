// How much a step would gain from a little more of what a machine has, its plan as it is.
#pragma once

#include <string>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/plans/plan.hpp"
#include "planner/predictions/predict.hpp"

namespace sluice::planner {

struct Elasticity {
  std::string resource;  ///< As JSON names it: "link".
  std::string meaning;   ///< For people: "link rate, both ways".
  double value = 0;  ///< dln(step) / dln(resource): -1 where the step is all of it, 0 where none.
};

/// Of every rate (machine_resources), by simulating `plan` with a tenth more of it. Capacities are
/// not among them: more memory changes a step only through another plan. Empty where the plan does
/// not fit. `calibration` is the predictor's.
[[nodiscard]] std::vector<Elasticity> elasticities(const Predictor& predictor,
                                                   const Calibration& calibration,
                                                   const Plan& plan);

}  // namespace sluice::planner
