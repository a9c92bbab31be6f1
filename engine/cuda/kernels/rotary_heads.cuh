// A head of queries or keys in the registers of a warp, two elements at a time.
#pragma once

#include "engine/cuda/kernels/rotary.hpp"
#include "engine/cuda/kernels/vector.cuh"

namespace sluice::engine::cuda {

inline constexpr int kRotaryThreads = 256;
inline constexpr int kRotaryWarps = kRotaryThreads / kWarp;
/// Most pairs of elements of a head that a lane holds.
inline constexpr int kMostSlots = static_cast<int>(kMostRotaryHead) / 2 / kWarp;

/// Sizes of a RotaryShape as kernels use them.
struct RotarySizes {
  std::int64_t tokens, first;
  int seq_len, head_dim, pairs;
  /// Elements that a norm is over: 0 without norms, a head's, or those of all heads together.
  bool normed, full_width, one_plus;
  double growth;
  int growth_from;
  const std::int32_t* starts;

  [[nodiscard]] __device__ int position(std::int64_t token) const {
    const auto at = static_cast<int>((first + token) % seq_len);
    return starts == nullptr ? at : at - starts[token];
  }
  /// The two elements of slot `i`: a pair that turns, or neighbours behind those that do.
  [[nodiscard]] __device__ int2 elements(int i) const {
    return i < pairs ? make_int2(i, i + pairs) : make_int2(2 * i, 2 * i + 1);
  }
  /// Factor of the query at `position`.
  [[nodiscard]] __device__ float growth_at(int position) const {
    if (growth == 0) return 1.0f;
    return static_cast<float>(1 + growth * log1p(static_cast<double>(position / growth_from)));
  }
  /// Factor of element `at` of a norm with these weights, null for none.
  [[nodiscard]] __device__ float factor(const std::uint16_t* weight, int at) const {
    if (weight == nullptr) return 1.0f;
    const float value = low_half(weight[at]);
    return one_plus ? value + 1.0f : value;
  }
};

/// Heads of queries, or of keys, of all tokens.
struct RotaryHeads {
  const std::uint16_t* projected;
  std::uint16_t* turned;  ///< Result of the forward pass, or the gradient of the backward pass.
  std::int64_t projected_stride, turned_stride;
  const std::uint16_t* weight;
  float* scales;
  int heads;
  bool queries;
};

/// Sizes for kernels, from position `first` on; checks them.
[[nodiscard]] RotarySizes rotary_sizes(const RotaryShape& shape, std::int64_t first);

__device__ inline std::uint16_t half_of(float value) {
  const __nv_bfloat16 rounded_value = __float2bfloat16_rn(value);
  return *reinterpret_cast<const std::uint16_t*>(&rounded_value);
}

}  // namespace sluice::engine::cuda
