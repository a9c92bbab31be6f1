// Coarse simulation of a step: the same graph of fewer, larger tasks, many times faster than a
// prediction. A search orders plans by it and predicts the best exactly.
#pragma once

#include <memory>

#include "planner/predictions/predict.hpp"

namespace sluice::planner {

/// Step time and peaks of memory of a plan by a coarse simulation: of a graph with fewer, larger
/// tasks.
struct CoarseStep {
  Duration step{0};
  /// Approximate peaks of device and of host memory, less what the device takes more for the larger
  /// tasks. 0 where the step is not below the limit that the caller named.
  Bytes hbm{0}, host{0};
};

/// Makes coarse simulations of plans of one job on one machine: step graphs with fewer, larger
/// tasks, many times faster to simulate than the exact ones.
class CoarseSteps {
 public:
  explicit CoarseSteps(const Predictor& predictor);

  /// The step time of `plan` by a graph in which several micro-batches are one (together), whose
  /// passes take as long as theirs do, and copies are larger (chunk). Memory is laid out only where
  /// the step is below `limit`. Throws BadRequest where the plan is not valid for the job.
  [[nodiscard]] CoarseStep step(const Plan& plan, Duration limit = Duration::max()) const;
  /// Number of micro-batches of `plan` that the coarse graph joins to one; 1 where it joins none.
  [[nodiscard]] std::int64_t together(const Plan& plan) const;
  /// About how many times fewer tasks the graph of `plan` has because micro-batches are joined.
  /// Less than together() where records are copied, whose copies stay nearly as many.
  [[nodiscard]] std::int64_t times_fewer(const Plan& plan) const;
  /// Largest number of bytes of one copy task in the coarse graph of `plan`: its own copy_chunk,
  /// but at least half of a block's weights, or a quarter where passes are few. 0 where the plan
  /// copies whole tensors.
  [[nodiscard]] Bytes chunk(const Plan& plan) const;

 private:
  [[nodiscard]] Bytes enlarged(const Plan& plan, const Plan& coarse, const Job& together) const;

  const Predictor* predictor_;
};

}  // namespace sluice::planner
