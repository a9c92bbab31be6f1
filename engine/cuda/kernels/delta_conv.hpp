// Causal depthwise convolution before the gated delta rule, with silu
// (docs/design/gated-delta-net.md). The rules of engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/into.hpp"
#include "sim/units.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

struct DeltaConvShape {
  std::int64_t tokens;    ///< Tokens of all sequences.
  std::int64_t length;    ///< Tokens of a sequence.
  std::int64_t channels;  ///< A multiple of 8.
  std::int64_t row;       ///< Elements between rows of x and of its gradient, a multiple of 8.
  /// Position in its sequence of the first token of each token's document, int32 [tokens]; null
  /// where each sequence is one document.
  const std::int32_t* starts = nullptr;
};

/// y[t, c] = silu(sum over j < 4 of weight[c, j] x[t - 3 + j, c]), where tokens before t's document
/// count as zero. x is bf16 [tokens, row], of which the first `channels` columns count; weight bf16
/// [channels, 4]; y bf16 [tokens, channels].
void delta_conv(CUstream_st* stream, const DeltaConvShape& shape, const std::uint16_t* x,
                const std::uint16_t* weight, std::uint16_t* y);

/// Backward pass of delta_conv, from d_y [tokens, channels]: d_x with the strides of x; d_weight,
/// fp32 [channels, 4], by partial sums over tokens in a fixed order. `workspace` holds
/// delta_conv_workspace bytes.
void delta_conv_backward(CUstream_st* stream, const DeltaConvShape& shape, const std::uint16_t* x,
                         const std::uint16_t* weight, const std::uint16_t* d_y, std::uint16_t* d_x,
                         float* d_weight, Into into, void* workspace);
[[nodiscard]] Bytes delta_conv_workspace(std::int64_t tokens, std::int64_t channels);

/// The tokens of `shape` continue one document, whose last three inputs are `window`, fp32 [3,
/// channels], oldest first and zero before the document: y as delta_conv computes it, with the same
/// bits; the window moves on.
void delta_conv_extend(CUstream_st* stream, const DeltaConvShape& shape, const std::uint16_t* x,
                       const std::uint16_t* weight, float* window, std::uint16_t* y);

}  // namespace sluice::engine::cuda
