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

/// Scores of one token's experts, from its logits.
struct RouterScores {
  planner::RouterScore kind;
  float2 scale;  ///< Logits::softmax_scale.

  __device__ static RouterScores of(const Logits& logits, planner::RouterScore kind) {
    const bool softmax = kind == planner::RouterScore::softmax;
    return {kind, softmax ? logits.softmax_scale() : make_float2(0, 1)};
  }
  [[nodiscard]] __device__ float score(float logit) const {
    return kind == planner::RouterScore::softmax ? expf(logit - scale.x) / scale.y
                                                 : 1.0f / (1.0f + expf(-logit));
  }
};

}  // namespace sluice::engine::cuda
