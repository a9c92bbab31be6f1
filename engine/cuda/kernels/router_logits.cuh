// A token's router logits in the registers of a warp.
#pragma once

#include "engine/cuda/kernels/routes.hpp"
#include "engine/cuda/kernels/vector.cuh"

namespace sluice::engine::cuda {

inline constexpr int kPerLane = static_cast<int>(kMostExperts) / kWarp;

/// Router logits of one token (a score for each expert), spread over a warp: lane l holds those of
/// experts l, l + 32, ...
struct Logits {
  float value[kPerLane];

  __device__ static Logits load(const float* logits, int experts, int lane) {
    Logits mine;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const int expert = lane + i * kWarp;
      mine.value[i] = expert < experts ? logits[expert] : -INFINITY;
    }
    return mine;
  }
  /// The largest logit, and the sum over experts of exp(logit - largest).
  __device__ float2 softmax_scale() const {
    float top = value[0];
#pragma unroll
    for (int i = 1; i < kPerLane; ++i) top = fmaxf(top, value[i]);
    for (int distance = kWarp / 2; distance > 0; distance /= 2) {
      top = fmaxf(top, __shfl_xor_sync(kAllLanes, top, distance));
    }
    float total = 0;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) total += expf(value[i] - top);
    return {top, lane_sum(total)};
  }
};

}  // namespace sluice::engine::cuda
