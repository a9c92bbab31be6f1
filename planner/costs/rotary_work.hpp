// Work of norms of queries and keys in their general form on a CUDA device
// (engine/cuda/kernels/rotary.hpp).
#pragma once

#include <cstdint>

#include "planner/models/shape.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Bytes that other kernels move in the time in which the general backward pass of heads' norms
/// waits for its loads; 0 for layers of `uniform`, a model whose layers are of one kind, that have
/// none. The kernel's blocks walk over tokens one after the other, and a round of a token's heads
/// takes as long as its loads, however few they are. A round's bytes are what olmo-2-7b's step on
/// an H200 leaves for them (experiments/results/current/families-on-a-gpu).
[[nodiscard]] Bytes general_norm_traffic(const ModelShape& uniform, std::int64_t seq_len,
                                         std::int64_t tokens);

}  // namespace sluice::planner
