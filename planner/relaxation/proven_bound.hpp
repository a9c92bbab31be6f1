// Proof of how fast any plan can be, by relaxations of ever smaller parts of the plan space.
#pragma once

#include <vector>

#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {

/// A part of the plan space and the solution of its linear program.
struct RelaxedPart {
  RelaxedNode node;
  RelaxedPlan relaxed;
};

/// Lower bound on the step of all plans in some parts of the plan space. It is raised by branch and
/// bound: the part with the least bound is split (PlanRelaxation::split) again and again.
class ProvenBound {
 public:
  /// Begins with `parts`, which together hold all plans to be bounded (such as one for each number
  /// of rounds) and were solved by `relaxation`, which must outlive the object.
  ProvenBound(const PlanRelaxation& relaxation, std::vector<RelaxedPart> parts);

  /// Splits the part with the least bound, again and again, until `most` linear programs have been
  /// solved in all calls together or that part cannot be split. Returns the least bound of all
  /// parts, which no plan beats; 0 if there are none.
  [[nodiscard]] Seconds improve(int most);

 private:
  const PlanRelaxation* relaxation_;
  std::vector<RelaxedPart> parts_;  ///< Parts as a heap, the one with the least bound first.
  Seconds bound_{0};
  int solved_ = 0;
};

}  // namespace sluice::planner
