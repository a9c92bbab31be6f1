// Plan fields as they are usually good, from the machine alone: where a search starts.
#pragma once

#include "planner/predictions/predict.hpp"

namespace sluice::planner {

/// Stream buffers of plans that store records: with one more than a pass reads and writes, blocks
/// whose stores take longer than their passes may follow each other.
inline constexpr std::int64_t kUsualStreams = 3;

[[nodiscard]] std::int64_t cores_of(const Predictor& predictor);

/// Threads of the optimizer that leave the other lanes their cores.
[[nodiscard]] std::int64_t usual_threads(const Predictor& predictor);

/// A chunk small against one block's copy, so that urgent copies do not wait long, yet few enough.
[[nodiscard]] Bytes usual_chunk(const Predictor& predictor);

}  // namespace sluice::planner
