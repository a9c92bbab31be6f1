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

/// No plan of any of some parts is faster: the least of their bounds, after the part that has it
/// was split (PlanRelaxation::split) again and again.
class ProvenBound {
 public:
  /// `relaxation`, of which `parts` are solutions, must outlive it.
  ProvenBound(const PlanRelaxation& relaxation, std::vector<RelaxedPart> parts);

  /// Goes on until `most` relaxations in all are solved or nothing is left to split. Returns the
  /// bound: 0 of no parts.
  [[nodiscard]] Seconds improve(int most);

 private:
  const PlanRelaxation* relaxation_;
  std::vector<RelaxedPart> parts_;  ///< A heap: the least bound first.
  Seconds bound_{0};
  int solved_ = 0;
};

}  // namespace sluice::planner
