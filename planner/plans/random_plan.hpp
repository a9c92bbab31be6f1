// Plans drawn at random, for tests of what must hold for every plan.
#pragma once

#include <cstdint>

#include "planner/plans/plan.hpp"

namespace sluice::planner {

/// A plan that validate(plan, job) accepts; equal seeds give equal plans on every machine. Any
/// value of any plan field that the job allows may come up: tiers, keep levels and their tier,
/// executors and times unit by unit (`when` backward only with clipping off), buffer counts up to
/// one more than the blocks, any divisor as rounds, copy chunks of 4 KiB to 1 MiB and whole
/// tensors, 1 to 4 threads. Half of the draws are equal for all units, so that the extremes come up
/// too. With several `ranks`, which must be one of ranks_of(job), also sizes and buffers of
/// exchanges, and nothing that validate_ranks refuses.
[[nodiscard]] Plan random_plan(const Job& job, std::uint64_t seed, std::int64_t ranks = 1);

}  // namespace sluice::planner
