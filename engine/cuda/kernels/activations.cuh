// Activations of feed-forward networks in registers, with their slopes; equations are those of
// docs/design/host-templates.md.
#pragma once

#include "engine/cuda/kernels/vector.cuh"
#include "planner/models/block.hpp"

namespace sluice::engine::cuda {

/// 1 / (1 + exp(-x)) with an error below 2^-21, while results are rounded to 2^-9.
__device__ inline float fast_sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }

/// Results of an activation's backward pass: the gradients of gate and up, and the activation
/// itself.
struct ActivationSlopes {
  float d_gate, d_up, value;
};

struct Silu {
  static constexpr bool kGated = true;
  __device__ static float of(float gate, float up) { return gate * fast_sigmoid(gate) * up; }
  __device__ static ActivationSlopes slopes(float gate, float up, float d) {
    const float s = fast_sigmoid(gate);
    const float silu = gate * s;
    return {d * up * (s * fmaf(gate, 1.0f - s, 1.0f)), d * silu, silu * up};
  }
};

/// gelu(x) = x sigmoid(v), v = 2 sqrt(2 / pi) (x + 0.044715 x^3).
struct GeluTanh {
  static constexpr bool kGated = true;
  static constexpr float kLinear = 1.5957691216057308f;
  static constexpr float kCubic = 0.07135481282732977f;  // kLinear * 0.044715
  __device__ static float of(float gate, float up) {
    return gate * fast_sigmoid(gate * (kLinear + kCubic * (gate * gate))) * up;
  }
  __device__ static ActivationSlopes slopes(float gate, float up, float d) {
    const float square = gate * gate;
    const float s = fast_sigmoid(gate * (kLinear + kCubic * square));
    const float gelu = gate * s;
    const float slope = s + gate * (s * (1.0f - s)) * (kLinear + 3.0f * kCubic * square);
    return {d * up * slope, d * gelu, gelu * up};
  }
};

struct SquaredRelu {
  static constexpr bool kGated = false;
  __device__ static float of(float, float up) {
    const float x = up < 0.0f ? 0.0f : up;  // NaN stays.
    return x * x;
  }
  __device__ static ActivationSlopes slopes(float, float up, float d) {
    const float x = up < 0.0f ? 0.0f : up;  // NaN stays.
    return {0.0f, d * (2.0f * x), x * x};
  }
};

/// A gradient passes a bound only where the value is within it.
struct ClampedSwiglu {
  static constexpr bool kGated = true;
  static constexpr float kLimit = 7.0f;
  static constexpr float kSharpness = 1.702f;
  __device__ static float of(float gate, float up) {
    const float x = gate > kLimit ? kLimit : gate;
    const float v = bounded(up);
    return (v + 1.0f) * (x * fast_sigmoid(kSharpness * x));
  }
  __device__ static ActivationSlopes slopes(float gate, float up, float d) {
    const float x = gate > kLimit ? kLimit : gate;
    const float v = bounded(up);
    const float s = fast_sigmoid(kSharpness * x);
    const float slope = s * (1.0f + kSharpness * x * (1.0f - s));
    const bool outside = up > kLimit || up < -kLimit;
    return {gate > kLimit ? 0.0f : d * (v + 1.0f) * slope, outside ? 0.0f : d * (x * s),
            (v + 1.0f) * (x * s)};
  }
  /// Within the limits; NaN stays.
  __device__ static float bounded(float up) {
    const float below = up > kLimit ? kLimit : up;
    return below < -kLimit ? -kLimit : below;
  }
};

/// Calls `body` with an object of the activation's type.
template <class Body>
void with_activation(planner::Activation activation, const Body& body) {
  switch (activation) {
    case planner::Activation::gelu_tanh:
      return body(GeluTanh{});
    case planner::Activation::relu2:
      return body(SquaredRelu{});
    case planner::Activation::clamped_swiglu:
      return body(ClampedSwiglu{});
    case planner::Activation::silu:
      break;
  }
  body(Silu{});
}

}  // namespace sluice::engine::cuda
