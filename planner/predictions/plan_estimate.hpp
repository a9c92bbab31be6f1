// Bounds of one plan from arithmetic alone: what a search prunes with before it builds a graph.
#pragma once

#include <vector>

#include "planner/graph/record.hpp"
#include "planner/plans/plan.hpp"
#include "planner/predictions/predict.hpp"

namespace sluice::planner {

struct PlanEstimate {
  Seconds bound{0};       ///< No execution of this plan is faster (steady state, uncontended).
  Seconds expected{0};    ///< A guess that orders plans of one bound: partly exposed copies on top.
  Bytes hbm_at_least{0};  ///< Bytes certainly live at one time.
  Bytes hbm_at_most{0};   ///< Every tensor at its own address, but staged state and waiting
                          ///< gradients where backward has left records.
  Bytes host_at_least{0};
  std::int64_t tasks = 0;  ///< About the tasks of three steps, which building and simulating costs.
};

/// Sizes and times that all plans of a predictor share, taken once.
class PlanEstimator {
 public:
  explicit PlanEstimator(const Predictor& predictor);
  [[nodiscard]] PlanEstimate estimate(const Plan& plan) const;

 private:
  struct Amounts;  ///< What a plan moves and computes in one step.
  [[nodiscard]] Amounts amounts(const Plan& plan) const;
  void add_memory(const Plan& plan, PlanEstimate& estimate) const;
  /// How long the compute lane waits for updates and staged state in one step, about.
  [[nodiscard]] Seconds longest_wait(const Plan& plan, Seconds compute) const;

  const Predictor* predictor_;
  BlockRecord record_;
  std::vector<std::int64_t> parameters_;  ///< Padded, by unit.
  double h2d_rate_ = 1, d2h_rate_ = 1;
  Bytes workspace_{0};
};

}  // namespace sluice::planner
