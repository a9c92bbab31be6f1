// How fast any plan can be, by relaxations of ever smaller parts of the plan space.
#pragma once

#include <vector>

#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {

/// A part of the plan space and its relaxation.
struct RelaxedPart {
  RelaxedNode node;
  RelaxedPlan relaxed;
};

/// The least bound of some parts of the plan space, raised by splitting the part that has it
/// (PlanRelaxation::split) again and again: branch and bound.
class ProvenBound {
 public:
  /// `relaxation`, of which `parts` are solutions, must outlive it.
  ProvenBound(const PlanRelaxation& relaxation, std::vector<RelaxedPart> parts);

  /// Splits until `most` relaxations in all are solved or nothing is left to split. Returns the
  /// bound, which is 0 without parts.
  [[nodiscard]] Seconds improve(int most);

 private:
  const PlanRelaxation* relaxation_;
  std::vector<RelaxedPart> parts_;  ///< A heap with the least bound first.
  Seconds bound_{0};
  int solved_ = 0;
};

}  // namespace sluice::planner
