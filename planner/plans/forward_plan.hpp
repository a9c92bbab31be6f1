// A plan of forward passes alone: weights and nothing else of the 12 bytes a parameter.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// What a pass ends with.
enum class ForwardGoal {
  loss,        ///< Summed cross-entropy of every micro-batch.
  next_token,  ///< Logits of the last token of a part of one sequence, whose keys and values stay:
               ///< `job.sequence_chunk` tokens of `job.seq_len` at most in all.
};

struct ForwardPlan {
  std::vector<Tier>
      weights;  ///< By unit: hbm or host. One copy: what is in HBM is not on the host.
  std::int64_t weight_buffers = 2;  ///< Device slots that streamed blocks rotate through.
  std::int64_t prefetch_depth = 1;  ///< Loads that run ahead; below weight_buffers.
  Bytes copy_chunk{0};              ///< Largest single copy; zero copies whole tensors.
  /// Of ForwardGoal::next_token: chunks of the sequence before the pass that costs are of.
  std::int64_t position = 0;

  [[nodiscard]] std::int64_t resident() const {
    std::int64_t count = 0;
    for (const Tier tier : weights) count += tier == Tier::hbm ? 1 : 0;
    return count;
  }
};

}  // namespace sluice::planner
