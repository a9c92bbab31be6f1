// Bounds of one plan by arithmetic alone, with which a search prunes before it builds a graph.
#pragma once

#include <vector>

#include "planner/graph/record.hpp"
#include "planner/layout/memory_range.hpp"
#include "planner/models/unit_size.hpp"
#include "planner/plans/plan.hpp"
#include "planner/predictions/predict.hpp"

namespace sluice::planner {

/// Bounds and guesses of a plan's step time and memory by arithmetic alone, before its graph is
/// built.
struct PlanEstimate : MemoryRange {
  /// Time of a step that no execution of the plan beats (steady state, without contention).
  Seconds bound{0};
  /// Guess of the step time, by which a search orders plans: at least `bound`, with waits for
  /// updates and records and a part of what copies and updates may expose.
  Seconds expected{0};
  /// Approximate number of tasks of the three steps of the plan's graph, which is what building and
  /// simulating it costs.
  std::int64_t tasks = 0;
};

/// Computes estimates of a predictor's plans, from sizes and times that all plans share and that
/// are computed once.
class PlanEstimator {
 public:
  explicit PlanEstimator(const Predictor& predictor);
  [[nodiscard]] PlanEstimate estimate(const Plan& plan) const;

 private:
  struct Amounts;  ///< Bytes and seconds of one step of a plan.
  [[nodiscard]] Amounts amounts(const Plan& plan) const;
  /// Parameters/s of the CPU updates of one rank, while all ranks update.
  [[nodiscard]] double rank_update_rate(const Plan& plan) const;
  /// Approximate time in which the compute lane waits for updates and staged state in one step that
  /// computes for `compute`.
  [[nodiscard]] Seconds longest_wait(const Plan& plan, Seconds compute) const;

  const Predictor* predictor_;
  BlockRecord record_;
  std::vector<std::int64_t> parameters_;  ///< Parameters of each unit, padding included.
  std::vector<std::int64_t> slices_;      ///< Parameters of a rank's slice of each unit.
  std::vector<UnitSize> slice_sizes_;     ///< Sizes of these slices.
  double h2d_rate_ = 1, d2h_rate_ = 1;
  MemoryRanges memory_;
};

}  // namespace sluice::planner
