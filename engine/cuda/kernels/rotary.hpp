// Queries and keys on their way into attention in the general form: norms over each head or over
// all heads together, with or without weights, then a rotation of a part of each head, or none.
// engine/cuda/kernels/rope.hpp has faster kernels for whole heads. The rules of
// engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/into.hpp"
#include "engine/cuda/kernels/norm.hpp"
#include "engine/cuda/kernels/rope.hpp"
#include "planner/models/block.hpp"
#include "sim/units.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// Largest number of elements of a head.
inline constexpr std::int64_t kMostRotaryHead = 512;

struct RotaryShape {
  RopeShape heads;  ///< head_dim: any even number, at most kMostRotaryHead.
  /// Number of pairs of elements that turn, (i, i + pairs); 0 for none.
  std::int64_t pairs = 0;
  planner::HeadNorm norm = planner::HeadNorm::none;
  NormFactor factor = NormFactor::weight;
  /// Growth of queries with their position (planner::Scales); 0 for none.
  double query_growth = 0;
  std::int64_t query_growth_from = 0;
};

/// rope_forward in the general form. `tables` are fp32 [seq_len, pairs]; `norms` have weights of
/// head_dim elements, or of all heads for HeadNorm::full_width, and are null for norms without
/// weights. `scales` receives a norm's reciprocal RMS: one for each head of a token, or for each
/// token. `first`: position of the first token in its sequence.
void rotary_forward(CUstream_st* stream, const RotaryShape& shape, const RopeTables& tables,
                    std::int64_t first, const HeadNorms& norms, const ConstQueryKey& projected,
                    const QueryKey& rotated, const HeadScales& scales);

/// Backward pass of rotary_forward from position 0 on, in place, as rope_backward.
void rotary_backward(CUstream_st* stream, const RotaryShape& shape, const RopeTables& tables,
                     const HeadNorms& norms, const HeadNormGradients& norm_gradients,
                     const QueryKey& gradient);
[[nodiscard]] Bytes rotary_backward_workspace(const RotaryShape& shape);

}  // namespace sluice::engine::cuda
