// Usual values of plan fields, from the machine alone: where a search starts.
#pragma once

#include "planner/predictions/predict.hpp"

namespace sluice::planner {

/// Usual stream buffers of plans that store records: one more than a pass reads and writes, so that
/// blocks whose stores outlast their passes may follow each other.
inline constexpr std::int64_t kUsualStreams = 3;

/// Cores of the machine, at least one.
[[nodiscard]] std::int64_t cores_of(const Predictor& predictor);

/// Usual optimizer threads, which leave the other lanes their cores.
[[nodiscard]] std::int64_t usual_threads(const Predictor& predictor);

/// Usual chunk of copies: small against a block's copy, so that urgent ones do not wait long, yet
/// not many to a block.
[[nodiscard]] Bytes usual_chunk(const Predictor& predictor);

}  // namespace sluice::planner
