// Decay and learning rate of the gated delta rule, from projections of each token
// (docs/design/gated-delta-net.md). The rules of engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/into.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// Projections of tokens, and parameters of a layer's decay: two numbers for every value head.
struct DeltaGates {
  std::int64_t tokens, heads;
  std::int64_t row;                ///< Elements between rows of `b` and `a`.
  const std::uint16_t* b;          ///< What learning rates are made of, bf16 [tokens, heads].
  const std::uint16_t* a;          ///< What decays are made of, bf16 [tokens, heads].
  const std::uint16_t* log_rate;   ///< A_log, bf16 [heads].
  const std::uint16_t* time_bias;  ///< dt_bias, bf16 [heads].
};

/// g[t, h] = -exp(A_log[h]) softplus(a[t, h] + dt_bias[h]) and beta[t, h] = sigmoid(b[t, h]),
/// computed in fp64 and kept as fp32 [tokens, heads].
void delta_gates(CUstream_st* stream, const DeltaGates& gates, float* g, float* beta);

/// Gradients that delta_gates_backward writes.
struct DeltaGateGradients {
  std::uint16_t *d_b, *d_a;      ///< bf16, with the strides of b and a.
  float *log_rate, *time_bias;   ///< fp32 [heads], summed over tokens in fp64.
  Into into = Into::accumulate;  ///< Whether those of parameters are added.
};
/// Backward pass of delta_gates, from d_g and d_beta, fp32 [tokens, heads]. The parameters' sums
/// have a fixed order that depends on `tokens` alone.
void delta_gates_backward(CUstream_st* stream, const DeltaGates& gates, const float* d_g,
                          const float* d_beta, const DeltaGateGradients& gradients);

}  // namespace sluice::engine::cuda
