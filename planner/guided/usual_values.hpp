// Usual values of plan fields, from the machine alone: where a search starts.
#pragma once

#include "planner/predictions/predict.hpp"

namespace sluice::planner {

/// Usual Plan::stream_buffers where records are kept on the host: one more than the two that a pass
/// reads and writes, so that a pass need not wait while the block before it is still being stored.
inline constexpr std::int64_t kUsualStreams = 3;

/// Usual number of device slots for blocks' state that passes through a ring (Staging::ring).
[[nodiscard]] std::int64_t usual_state_slots(const Predictor& predictor);

/// Number of CPU cores of the machine, at least one.
[[nodiscard]] std::int64_t cores_of(const Predictor& predictor);

/// Usual number of threads of the CPU optimizer: all cores of the machine but one (host backend) or
/// two (beside a GPU, where there are more than a few), which are left to the other lanes; at
/// least 1.
[[nodiscard]] std::int64_t usual_threads(const Predictor& predictor);

/// Usual Plan::copy_chunk: small against the weights of a block, so that an urgent copy does not
/// wait long behind others, yet large enough that a block's copy is not many tasks.
[[nodiscard]] Bytes usual_chunk(const Predictor& predictor);

}  // namespace sluice::planner
