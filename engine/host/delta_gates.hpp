// Decay and learning rate of the gated delta rule, from projections of each token
// (docs/design/gated-delta-net.md).
#pragma once

#include <cstdint>

namespace sluice::engine {

/// Parameters of a layer's decay: two numbers for every value head, fp32.
struct DeltaDecay {
  const float* log_rate;   ///< A_log.
  const float* time_bias;  ///< dt_bias.
};

/// g[t, h] = -exp(A_log[h]) softplus(a[t, h] + dt_bias[h]), the logarithm of the decay, and
/// beta[t, h] = sigmoid(b[t, h]); all fp32 [tokens, heads].
void delta_gates(std::int64_t tokens, std::int64_t heads, const DeltaDecay& decay, const float* a,
                 const float* b, float* g, float* beta);

/// Gradients that delta_gates_backward adds to.
struct DeltaDecayGradients {
  float *log_rate, *time_bias;
};
/// Backward pass of delta_gates: d_a and d_b from d_g and d_beta, which they may be; the
/// parameters' gradients are summed over tokens in fp64 and added.
void delta_gates_backward(std::int64_t tokens, std::int64_t heads, const DeltaDecay& decay,
                          const float* a, const float* b, const float* d_g, const float* d_beta,
                          float* d_a, float* d_b, const DeltaDecayGradients& gradients);

}  // namespace sluice::engine
