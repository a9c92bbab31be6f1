// RMSNorm (Zhang and Sennrich 2019, equation 4) and its backward pass on a CUDA device.
//
// Every function of engine/cuda/kernels: enqueues on `stream` and returns; all pointers are device
// addresses, 16-byte aligned, that must stay valid until the stream has passed the kernel; bf16
// values are std::uint16_t; arithmetic is fp32, rounded to nearest even where a bf16 is stored; two
// runs give the same bits. std::logic_error for sizes outside the stated ones, EnvironmentError if
// the launch is refused.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/into.hpp"
#include "sim/units.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// Largest number of columns of a row that RMSNorm is computed of: the threads of one block hold a
/// row in registers.
inline constexpr std::int64_t kMostNormWidth = 32768;

/// Factor by which a norm multiplies each normed element.
enum class NormFactor {
  weight,
  one_plus_weight,  ///< 1 + weight, added in fp32.
};

/// RMSNorm of each row: rstd[t] = 1 / sqrt(mean(x[t]^2) + eps), out[t] = x[t] * rstd[t] * weight,
/// with x and out bf16 [tokens, hidden], weight bf16 [hidden], rstd fp32 [tokens]. `out` may be
/// `x`. hidden is a multiple of 8, at most kMostNormWidth. `factor`: whether 1 + weight stands in
/// place of the weight.
void rms_norm(CUstream_st* stream, const std::uint16_t* x, const std::uint16_t* weight, float eps,
              std::int64_t tokens, std::int64_t hidden, std::uint16_t* out, float* rstd,
              NormFactor factor = NormFactor::weight);

/// Where the backward pass of an RMSNorm writes its gradients, and whether it adds to what is
/// there.
struct NormGradients {
  /// Gradient of the norm's input x, bf16 [tokens, hidden]; may be d_out, the gradient of its
  /// result.
  std::uint16_t* d_x = nullptr;
  Into d_x_into = Into::accumulate;
  float* d_weight = nullptr;  ///< Gradient of the norm's weight, fp32 [hidden].
  Into d_weight_into = Into::accumulate;
};

/// Backward pass of rms_norm. With s = rstd[t], d = d_out[t]:
///   d_x[t] (+)= s d weight - x[t] s^3 mean(d weight x[t])     added in fp32, rounded once
///   d_weight (+)= sum over t of d x[t] s      partial sums in a fixed order, then onto d_weight
/// where (+)= overwrites or adds as `gradients` says. `workspace` holds
/// norm_backward_workspace(tokens, hidden) bytes.
void rms_norm_backward(CUstream_st* stream, const std::uint16_t* x, const std::uint16_t* weight,
                       const float* rstd, const std::uint16_t* d_out, std::int64_t tokens,
                       std::int64_t hidden, const NormGradients& gradients, void* workspace,
                       NormFactor factor = NormFactor::weight);
[[nodiscard]] Bytes norm_backward_workspace(std::int64_t tokens, std::int64_t hidden);

}  // namespace sluice::engine::cuda
