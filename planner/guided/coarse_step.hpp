// Coarse simulation of a step: the same graph of fewer, larger tasks, many times faster than a
// prediction. A search orders plans by it and predicts the best exactly.
#pragma once

#include <memory>

#include "planner/predictions/predict.hpp"

namespace sluice::planner {

/// Step time and peaks of memory of a plan by a coarse simulation.
struct CoarseStep {
  Duration step{0};
  /// Approximate peaks, without what the larger tasks would take more. Zero for a plan slower than
  /// asked for.
  Bytes hbm{0}, host{0};
};

/// Coarse simulations of plans of one job on one machine.
class CoarseSteps {
 public:
  explicit CoarseSteps(const Predictor& predictor);

  /// The period of the plan with several micro-batches taken together, each as long as its parts
  /// are; memory only of steps below `limit`. Throws BadRequest where the plan is not one of this
  /// job's.
  [[nodiscard]] CoarseStep step(const Plan& plan, Duration limit = Duration::max()) const;
  /// How many micro-batches go together.
  [[nodiscard]] std::int64_t together(const Plan& plan) const;
  /// About how many times fewer tasks that leaves; copies of weights and gradients stay as many.
  [[nodiscard]] std::int64_t times_fewer(const Plan& plan) const;
  /// Size of the largest copy.
  [[nodiscard]] Bytes chunk(const Plan& plan) const;

 private:
  [[nodiscard]] Bytes enlarged(const Plan& plan, const Plan& coarse, const Job& together) const;

  const Predictor* predictor_;
};

}  // namespace sluice::planner
