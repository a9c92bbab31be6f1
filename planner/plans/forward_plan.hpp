// A plan of forward passes alone, which need weights but neither gradients nor optimizer state.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// The result of a forward pass.
enum class ForwardGoal {
  loss,  ///< Summed cross-entropy of every micro-batch.
  /// Logits of the last token of a chunk of one sequence, whose keys and values are kept: at most
  /// `job.sequence_chunk` tokens a pass and `job.seq_len` in all.
  next_token,
};

struct ForwardPlan {
  std::vector<Tier> weights;        ///< Where each unit's weights live: hbm or host, never both.
  std::int64_t weight_buffers = 2;  ///< Device slots that streamed blocks use one after another.
  std::int64_t prefetch_depth = 1;  ///< Weight loads that may run ahead; below weight_buffers.
  Bytes copy_chunk{0};              ///< Largest single copy; zero copies whole tensors.
  /// Used by ForwardGoal::next_token: number of chunks of the sequence before the pass whose cost
  /// is asked for.
  std::int64_t position = 0;

  [[nodiscard]] std::int64_t resident() const {
    std::int64_t count = 0;
    for (const Tier tier : weights) count += tier == Tier::hbm ? 1 : 0;
    return count;
  }
};

}  // namespace sluice::planner
