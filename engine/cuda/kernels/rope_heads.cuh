// Heads of queries and keys in the registers of the rotation kernels: each thread holds two runs of
// eight elements that are rotated against each other; neighbouring lanes share a head.
#pragma once

#include "engine/cuda/kernels/rope.hpp"
#include "engine/cuda/kernels/vector.cuh"

namespace sluice::engine::cuda {

inline constexpr int kRopeThreads = 256;
inline constexpr int kPart = 2 * kVector;  ///< Number of a head's elements that one thread holds.

/// What one thread holds of a head of queries or keys: elements [begin, begin + 8) and those half a
/// head later, against which they are rotated.
struct Pair {
  Eight low, high;
};

__device__ inline Pair load_pair(const std::uint16_t* head, int begin, int half) {
  return {Eight::unpack(load(head, begin)), Eight::unpack(load(head, begin + half))};
}
__device__ inline void store_pair(std::uint16_t* head, int begin, int half, const Pair& pair) {
  store(head, begin, pair.low.packed());
  store(head, begin + half, pair.high.packed());
}

__device__ inline Eight load_floats(const float* data) {
  const float4 a = *reinterpret_cast<const float4*>(data);
  const float4 b = *reinterpret_cast<const float4*>(data + 4);
  return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
}

/// Rotates a pair of runs by the angles from index `angle` of the tables on; `sign` -1 rotates
/// back.
__device__ inline Pair rotate(const Pair& in, const RopeTables& tables, std::int64_t angle,
                              float sign) {
  const Eight cos = load_floats(tables.cos + angle);
  const Eight sin = load_floats(tables.sin + angle);
  Pair out;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    const float s = sign * sin.value[i];
    out.low.value[i] = in.low.value[i] * cos.value[i] - in.high.value[i] * s;
    out.high.value[i] = in.high.value[i] * cos.value[i] + in.low.value[i] * s;
  }
  return out;
}

/// Sum of `value` over the `parts` neighbouring lanes (a power of 2) that share a head, returned in
/// all of them.
__device__ inline float head_sum(float value, int parts) {
  for (int distance = parts / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, distance);
  }
  return value;
}

/// Sizes of a RopeShape in the types that kernels use: `parts` threads share a head, `half` is
/// head_dim / 2, and `items` is the number of parts of all heads of all tokens.
struct RopeSizes {
  unsigned seq_len, heads, kv_heads, parts, items;
  int half;
  const std::int32_t* starts;
};

/// Index in the tables of the first of a token's angles, those of its position in its document.
__device__ inline std::int64_t angles_of(const RopeSizes& sizes, unsigned token) {
  unsigned position = token % sizes.seq_len;
  if (sizes.starts != nullptr) position -= static_cast<unsigned>(sizes.starts[token]);
  return static_cast<std::int64_t>(position) * sizes.half;
}

/// What the backward pass of the rotation and norm of q (or of k) reads and writes, for the heads
/// of all tokens.
struct NormedHeads {
  const std::uint16_t* projected;
  std::uint16_t* gradient;
  std::int64_t projected_stride, gradient_stride;
  const std::uint16_t* weight;
  const float* scales;
  float* partials;  ///< Partial sums of the gradient of the norm's weight, fp32 [blocks, head_dim].
  unsigned heads, rows;  ///< Number of heads; `rows` is tokens * heads.
};

/// Backward pass of the rotation and norm of q and k, in place; the gradients of the norms' weights
/// are left as partial sums over `blocks` thread blocks.
void rope_norms_backward(CUstream_st* stream, const RopeSizes& sizes, const RopeTables& tables,
                         const NormedHeads& q, const NormedHeads& k, std::int64_t blocks);

}  // namespace sluice::engine::cuda
