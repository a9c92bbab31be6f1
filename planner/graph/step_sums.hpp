// What ranks tell each other of a step, in one tensor that one collective gathers: norm blocks and
// losses.
#pragma once

#include <vector>

#include "planner/models/job.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Layout of one rank's run of the tensor "step_sums", which holds a run of every rank, in order of
/// ranks: for each unit the blocks of its slice (double [slice / kNormBlock]), then the losses of
/// the rank's micro-batches (double [micro-batches]), then their balancing losses. A unit's blocks
/// in order are those of rank 0, rank 1, ...
struct StepSums {
  /// A range of a run, in bytes from its start.
  struct Part {
    Bytes offset{0}, bytes{0};
  };
  std::vector<Part> norm_blocks;  ///< Blocks of each unit, by the plan's units.
  Part losses;
  Part balance_losses;  ///< Empty without a router_aux_loss_coef.
  Bytes run{0};         ///< Bytes of one rank's run.
};

/// Layout of the step's sums for `ranks` ranks, of which each computes `part` (part_of_rank).
[[nodiscard]] StepSums step_sums(const Job& part, std::int64_t ranks);

}  // namespace sluice::planner
