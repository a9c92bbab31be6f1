#include "engine/cuda/kernels/delta_gates.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 256;

/// ln(1 + e^x), without overflow.
__device__ double softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }
__device__ double logistic(double x) { return 1 / (1 + exp(-x)); }
__device__ double value(const std::uint16_t* data, std::int64_t index) {
  return double{low_half(data[index])};
}
__device__ std::uint16_t to_bf16(double x) {
  return static_cast<std::uint16_t>(pack(static_cast<float>(x), 0));
}

__global__ void __launch_bounds__(kThreads) make_gates(DeltaGates gates, float* g, float* beta) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= gates.tokens * gates.heads) return;
  const std::int64_t head = i % gates.heads, at = i / gates.heads * gates.row + head;
  const double rate = exp(value(gates.log_rate, head));
  g[i] = static_cast<float>(-rate * softplus(value(gates.a, at) + value(gates.time_bias, head)));
  beta[i] = static_cast<float>(logistic(value(gates.b, at)));
}

/// One block per head: thread i has tokens i, i + 256, ...
__global__ void __launch_bounds__(kThreads)
    gates_gradient(DeltaGates gates, const float* d_g, const float* d_beta,
                   DeltaGateGradients gradients) {
  __shared__ double rate_sums[kThreads / kWarp], bias_sums[kThreads / kWarp];
  const std::int64_t head = blockIdx.x;
  const double rate = exp(value(gates.log_rate, head)), bias = value(gates.time_bias, head);
  double d_rate = 0, d_bias = 0;
  for (std::int64_t t = threadIdx.x; t < gates.tokens; t += kThreads) {
    const std::int64_t at = t * gates.row + head;
    const double time = value(gates.a, at) + bias, share = logistic(value(gates.b, at));
    const double from_g = double{d_g[t * gates.heads + head]};
    const double from_beta = double{d_beta[t * gates.heads + head]};
    // dg/da = -rate sigma(time); dg/dA_log = g.
    const double d_time = -rate * logistic(time) * from_g;
    d_rate += -rate * softplus(time) * from_g;
    d_bias += d_time;
    gradients.d_a[at] = to_bf16(d_time);
    gradients.d_b[at] = to_bf16(share * (1 - share) * from_beta);
  }
  const auto of_rate = static_cast<float>(block_sum(d_rate, rate_sums));
  const auto of_bias = static_cast<float>(block_sum(d_bias, bias_sums));
  if (threadIdx.x != 0) return;
  const bool adds = gradients.into == Into::accumulate;
  gradients.log_rate[head] = adds ? gradients.log_rate[head] + of_rate : of_rate;
  gradients.time_bias[head] = adds ? gradients.time_bias[head] + of_bias : of_bias;
}

void check_gates(const DeltaGates& gates) {
  check(gates.tokens > 0 && gates.heads > 0 && gates.row >= gates.heads &&
            gates.tokens * gates.heads <= INT32_MAX,
        "gates have tokens and heads");
}

}  // namespace

void delta_gates(CUstream_st* stream, const DeltaGates& gates, float* g, float* beta) {
  check_gates(gates);
  make_gates<<<static_cast<unsigned>(ceil_div(gates.tokens * gates.heads, kThreads)), kThreads, 0,
               stream>>>(gates, g, beta);
  check_launch("delta_gates");
}

void delta_gates_backward(CUstream_st* stream, const DeltaGates& gates, const float* d_g,
                          const float* d_beta, const DeltaGateGradients& gradients) {
  check_gates(gates);
  gates_gradient<<<static_cast<unsigned>(gates.heads), kThreads, 0, stream>>>(gates, d_g, d_beta,
                                                                              gradients);
  check_launch("delta_gates_backward");
}

}  // namespace sluice::engine::cuda
