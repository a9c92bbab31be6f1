// The activation of the MLP, a function of gate and up (Shazeer 2020, equation 6, is silu's). The
// rules of engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

#include "planner/models/block.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// The two inputs of the MLP's activation, gate and up, bf16: row t of each begins at t * stride,
/// width elements each; width and stride are multiples of 8. In packed rows [gate up], up = gate +
/// width and stride = 2 width; in two matrices, stride = width. An activation without a gate does
/// not read `gate`.
struct GateUp {
  const std::uint16_t* gate = nullptr;
  const std::uint16_t* up = nullptr;
  std::int64_t stride = 0;
};

/// Activation of each row, activation[t] = a(gate[t], up[t]) (planner::Activation): bf16 [tokens,
/// width], without gaps.
void activate(CUstream_st* stream, planner::Activation function, const GateUp& in,
              std::int64_t tokens, std::int64_t width, std::uint16_t* activation);

/// Where an activation's backward pass writes its results. d_gate and d_up may be gate and up
/// themselves; `activation` may be d_activation, the gradient that is read.
struct ActivationGradients {
  /// Gradient of gate, bf16; rows of d_gate and d_up are `stride` elements apart, as in GateUp.
  /// Without a gate it is not written.
  std::uint16_t* d_gate = nullptr;
  std::uint16_t* d_up = nullptr;
  std::int64_t stride = 0;
  /// Result of the activation, recomputed with the same bits as in the forward pass, bf16 [tokens,
  /// width]; null if not wanted.
  std::uint16_t* activation = nullptr;
};

/// Backward pass of `activate`, from the gradient of its result, bf16 [tokens, width]. For silu,
/// with s = 1 / (1 + exp(-gate)) and d = d_activation[t]:
///   d_gate = d up s (1 + gate (1 - s)),  d_up = d gate s
void activate_backward(CUstream_st* stream, planner::Activation function, const GateUp& in,
                       const std::uint16_t* d_activation, std::int64_t tokens, std::int64_t width,
                       const ActivationGradients& gradients);

}  // namespace sluice::engine::cuda
