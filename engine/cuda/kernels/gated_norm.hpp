// RMS norm whose output is multiplied by the silu of a gate, head by head
// (docs/design/gated-delta-net.md). The rules of engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/into.hpp"
#include "sim/units.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// Largest number of columns of a head that gated_norm computes.
inline constexpr std::int64_t kMostGatedWidth = 256;

struct GatedNorm {
  std::int64_t tokens, heads, cols;  ///< Rows of `cols` elements, even and at most kMostGatedWidth.
  std::int64_t gate_row;             ///< Elements between rows of z, even.
  const std::uint16_t* x;            ///< bf16 [tokens, heads, cols].
  const std::uint16_t* z;            ///< The gate, bf16 [tokens, heads, cols].
  const std::uint16_t* weight;       ///< bf16 [cols].
  float eps;
};

/// y = weight x rstd(x) silu(z) for each token and head, with rstd(x) = (mean(x^2) + eps)^-1/2; y
/// is bf16 [tokens, heads, cols].
void gated_norm(CUstream_st* stream, const GatedNorm& norm, std::uint16_t* y);

/// Backward pass of gated_norm, from d_y, bf16 [tokens, heads, cols]: turns it into the gradient of
/// x; d_z has the strides of z; d_weight, fp32 [cols], by partial sums in a fixed order.
/// `workspace` holds gated_norm_workspace bytes.
void gated_norm_backward(CUstream_st* stream, const GatedNorm& norm, std::uint16_t* d_y,
                         std::uint16_t* d_z, float* d_weight, Into into, void* workspace);
[[nodiscard]] Bytes gated_norm_workspace(std::int64_t rows, std::int64_t cols);

}  // namespace sluice::engine::cuda
