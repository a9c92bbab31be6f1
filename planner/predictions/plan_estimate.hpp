// Bounds of one plan from arithmetic alone, by which a search prunes before it builds a graph.
#pragma once

#include <vector>

#include "planner/graph/record.hpp"
#include "planner/layout/memory_range.hpp"
#include "planner/plans/plan.hpp"
#include "planner/predictions/predict.hpp"

namespace sluice::planner {

struct PlanEstimate : MemoryRange {
  Seconds bound{0};  ///< No execution of this plan is faster (steady state, without contention).
  /// Guessed step time, to order plans of equal bound: adds partly exposed copies.
  Seconds expected{0};
  /// Approximate number of tasks of the three steps, which building and simulating cost.
  std::int64_t tasks = 0;
};

/// Estimates plans of one predictor from sizes and times that they all share, computed once.
class PlanEstimator {
 public:
  explicit PlanEstimator(const Predictor& predictor);
  [[nodiscard]] PlanEstimate estimate(const Plan& plan) const;

 private:
  struct Amounts;  ///< Bytes that a plan moves and seconds that it computes in one step.
  [[nodiscard]] Amounts amounts(const Plan& plan) const;
  /// Approximate time for which the compute lane waits for updates and staged state in one step.
  [[nodiscard]] Seconds longest_wait(const Plan& plan, Seconds compute) const;

  const Predictor* predictor_;
  BlockRecord record_;
  std::vector<std::int64_t> parameters_;  ///< Parameters of each unit, padding included.
  double h2d_rate_ = 1, d2h_rate_ = 1;
  MemoryRanges memory_;
};

}  // namespace sluice::planner
