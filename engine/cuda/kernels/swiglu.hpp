// The gated activation of the MLP (Shazeer 2020, equation 6): silu(gate) * up. The rules of
// engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace sluice::engine::cuda {

/// The two inputs of the MLP's gated activation, gate and up, bf16: row t of each begins at t *
/// stride, width elements each; width and stride are multiples of 8. In packed rows [gate up], up =
/// gate + width and stride = 2 width; in two matrices, stride = width.
struct GateUp {
  const std::uint16_t* gate = nullptr;
  const std::uint16_t* up = nullptr;
  std::int64_t stride = 0;
};

/// Gated activation of each row, activation[t] = silu(gate[t]) * up[t]: bf16 [tokens, width],
/// without gaps.
void swiglu(CUstream_st* stream, const GateUp& in, std::int64_t tokens, std::int64_t width,
            std::uint16_t* activation);

/// Where swiglu's backward pass writes its results. d_gate and d_up may be gate and up themselves;
/// `activation` may be d_activation, the gradient that is read.
struct SwigluGradients {
  /// Gradient of gate, bf16; rows of d_gate and d_up are `stride` elements apart, as in GateUp.
  std::uint16_t* d_gate = nullptr;
  std::uint16_t* d_up = nullptr;
  std::int64_t stride = 0;
  /// Result of swiglu, recomputed with the same bits as in the forward pass, bf16 [tokens, width];
  /// null if not wanted.
  std::uint16_t* activation = nullptr;
};

/// Backward pass of swiglu. With s = 1 / (1 + exp(-gate)) and d = d_activation[t] (bf16 [tokens,
/// width]):
///   d_gate = d up s (1 + gate (1 - s)),  d_up = d gate s
void swiglu_backward(CUstream_st* stream, const GateUp& in, const std::uint16_t* d_activation,
                     std::int64_t tokens, std::int64_t width, const SwigluGradients& gradients);

}  // namespace sluice::engine::cuda
