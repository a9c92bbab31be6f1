// The gated activation of the MLP (Shazeer 2020, equation 6): silu(gate) * up. The rules of
// engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace sluice::engine::cuda {

/// bf16 gate and up: row t begins at t * stride, width elements each; width and stride are
/// multiples of 8. In packed rows [gate up], up = gate + width and stride = 2 width; in two
/// matrices, stride = width.
struct GateUp {
  const std::uint16_t* gate = nullptr;
  const std::uint16_t* up = nullptr;
  std::int64_t stride = 0;
};

/// activation[t] = silu(gate[t]) * up[t]: bf16 [tokens, width], without gaps.
void swiglu(CUstream_st* stream, const GateUp& in, std::int64_t tokens, std::int64_t width,
            std::uint16_t* activation);

/// Destinations of swiglu's backward pass. d_gate and d_up may be gate and up; `activation` may be
/// d_activation.
struct SwigluGradients {
  /// Gradient of gate, bf16; d_gate and d_up have rows `stride` elements apart, as in GateUp.
  std::uint16_t* d_gate = nullptr;
  std::uint16_t* d_up = nullptr;
  std::int64_t stride = 0;
  /// swiglu's result, recomputed bit for bit; null if not wanted.
  std::uint16_t* activation = nullptr;
};

/// Backward pass of swiglu. With s = 1 / (1 + exp(-gate)) and d = d_activation[t] (bf16 [tokens,
/// width]):
///   d_gate = d up s (1 + gate (1 - s)),  d_up = d gate s
void swiglu_backward(CUstream_st* stream, const GateUp& in, const std::uint16_t* d_activation,
                     std::int64_t tokens, std::int64_t width, const SwigluGradients& gradients);

}  // namespace sluice::engine::cuda
