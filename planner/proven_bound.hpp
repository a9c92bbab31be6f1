// How fast any plan can be, by relaxations of ever smaller parts of the plan space.
#pragma once

#include <vector>

#include "planner/plan_relaxation.hpp"

namespace sluice::planner {

/// A part of the plan space and its relaxation.
struct RelaxedPart {
  RelaxedNode node;
  RelaxedPlan relaxed;
};

/// No plan of any of `parts` is faster: the least of their bounds, after the part that has it was
/// split (PlanRelaxation::split) again and again, `most` relaxations in all. 0 of no parts.
[[nodiscard]] Seconds proven_bound(const PlanRelaxation& relaxation, std::vector<RelaxedPart> parts,
                                   int most);

}  // namespace sluice::planner
