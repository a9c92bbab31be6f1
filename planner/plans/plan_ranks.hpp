// Numbers of ranks that a plan may have, and what plans of several ranks cannot have yet.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"

namespace sluice::planner {

/// Numbers of ranks that can share a step of `job`, in ascending order: of the numbers whose ranks
/// each hold a complete part of the tree of groups (admissible_ranks), those that divide the
/// micro-batches, so that all ranks compute as many.
[[nodiscard]] std::vector<std::int64_t> ranks_of(const Job& job);

/// Throws BadRequest naming the field that does not go with the plan's number of ranks, and where
/// the number itself is not admissible, the numbers that are.
void validate_ranks(const Plan& plan, const Job& job);

}  // namespace sluice::planner
