// Plan of forward passes alone, which need weights but neither gradients nor optimizer state.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Result that a forward pass computes.
enum class ForwardGoal {
  loss,  ///< Summed cross-entropy of each micro-batch.
  /// Logits of the last token of a chunk of one sequence, whose keys and values are kept for later
  /// chunks: at most `job.sequence_chunk` tokens a pass and `job.seq_len` in all.
  next_token,
};

/// A plan of forward passes alone, as evaluation and generation run them.
struct ForwardPlan {
  std::vector<Tier> weights;  ///< Where each unit's weights live, by unit: Tier::hbm or Tier::host.
  /// Number of device slots that streamed blocks' weights use one after another.
  std::int64_t weight_buffers = 2;
  /// Number of weight loads that may be issued before their use; below weight_buffers.
  std::int64_t prefetch_depth = 1;
  Bytes copy_chunk{0};  ///< Largest number of bytes of one copy task; zero copies whole tensors.
  /// Number of chunks of the sequence that precede the pass whose cost is asked for; used for
  /// ForwardGoal::next_token.
  std::int64_t position = 0;

  /// Number of units whose weights stay on the device.
  [[nodiscard]] std::int64_t resident() const {
    std::int64_t count = 0;
    for (const Tier tier : weights) count += tier == Tier::hbm ? 1 : 0;
    return count;
  }
};

}  // namespace sluice::planner
