#include "engine/cuda/kernels/routes.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarp;

/// 1 / (1 + exp(-x)) with an error below 2^-21, while results are rounded to 2^-9.
__device__ float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }

/// One block per token.
__global__ void __launch_bounds__(kThreads)
    combine(const std::uint16_t* rows, const std::int32_t* row, int active,
            const std::uint16_t* base, std::int64_t width, std::uint16_t* out) {
  const std::int64_t token = blockIdx.x;
  for (std::int64_t column = threadIdx.x * kVector; column < width;
       column += std::int64_t{kThreads} * kVector) {
    Eight sum{};
    for (int i = 0; i < active; ++i) {
      const Eight each = Eight::unpack(load(rows, row[token * active + i] * width + column));
#pragma unroll
      for (int j = 0; j < kVector; ++j) sum.value[j] += each.value[j];
    }
    const Eight start = Eight::unpack(load(base, token * width + column));
#pragma unroll
    for (int j = 0; j < kVector; ++j) sum.value[j] += start.value[j];
    store(out, token * width + column, sum.packed());
  }
}

/// One block per row.
__global__ void __launch_bounds__(kThreads)
    weigh_forward(const std::uint16_t* gate_up, const float* share, std::int64_t width,
                  std::uint16_t* activation) {
  const std::int64_t row = blockIdx.x;
  const float weight = share[row];
  for (std::int64_t column = threadIdx.x * kVector; column < width;
       column += std::int64_t{kThreads} * kVector) {
    Eight gate = Eight::unpack(load(gate_up, 2 * row * width + column));
    const Eight up = Eight::unpack(load(gate_up, (2 * row + 1) * width + column));
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const float x = gate.value[i];
      gate.value[i] = rounded(x * sigmoid(x) * up.value[i]) * weight;
    }
    store(activation, row * width + column, gate.packed());
  }
}

/// One block per row.
__global__ void __launch_bounds__(kThreads)
    weigh_backward(const std::uint16_t* gate_up, const float* share, std::int64_t width,
                   std::uint16_t* d_activation, std::uint16_t* d_gate_up, float* d_share) {
  __shared__ float warp_sums[kWarps];
  const std::int64_t row = blockIdx.x;
  const float weight = share[row];
  float sum = 0;
  for (std::int64_t column = threadIdx.x * kVector; column < width;
       column += std::int64_t{kThreads} * kVector) {
    const Eight gate = Eight::unpack(load(gate_up, 2 * row * width + column));
    const Eight up = Eight::unpack(load(gate_up, (2 * row + 1) * width + column));
    const Eight d = Eight::unpack(load(d_activation, row * width + column));
    Eight d_gate, d_up, activation;
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const float x = gate.value[i];
      const float s = sigmoid(x);
      const float silu = x * s;
      const float plain = rounded(silu * up.value[i]);
      const float weighted = d.value[i] * weight;
      sum += d.value[i] * plain;
      activation.value[i] = plain * weight;
      d_gate.value[i] = weighted * up.value[i] * (s * fmaf(x, 1.0f - s, 1.0f));
      d_up.value[i] = weighted * silu;
    }
    store(d_activation, row * width + column, activation.packed());
    store(d_gate_up, 2 * row * width + column, d_gate.packed());
    store(d_gate_up, (2 * row + 1) * width + column, d_up.packed());
  }
  sum = block_sum(sum, warp_sums);
  if (threadIdx.x == 0) d_share[row] = sum;
}

void check_rows(std::int64_t rows, std::int64_t width) {
  check(rows > 0 && rows <= INT32_MAX && width > 0 && width % kVector == 0,
        "rows of a multiple of 8 elements");
}

}  // namespace

void combine_rows(CUstream_st* stream, const std::uint16_t* rows, const RouteShape& shape,
                  const RouteArrays& routes, const std::uint16_t* base, std::int64_t width,
                  std::uint16_t* out) {
  check_rows(shape.tokens, width);
  check(aligned(rows, base, out), "rows are 16-byte aligned");
  combine<<<static_cast<unsigned>(shape.tokens), kThreads, 0, stream>>>(
      rows, routes.row, static_cast<int>(shape.active), base, width, out);
  check_launch("combine_rows");
}

void weighted_swiglu(CUstream_st* stream, const std::uint16_t* gate_up, const float* share,
                     std::int64_t rows, std::int64_t width, std::uint16_t* activation) {
  check_rows(rows, width);
  check(aligned(gate_up, activation), "gate, up and activation are 16-byte aligned");
  weigh_forward<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(gate_up, share, width,
                                                                      activation);
  check_launch("weighted_swiglu");
}

void weighted_swiglu_backward(CUstream_st* stream, const std::uint16_t* gate_up, const float* share,
                              std::int64_t rows, std::int64_t width, std::uint16_t* d_activation,
                              std::uint16_t* d_gate_up, float* d_share) {
  check_rows(rows, width);
  check(aligned(gate_up, d_activation, d_gate_up), "gate, up and gradients are 16-byte aligned");
  weigh_backward<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(
      gate_up, share, width, d_activation, d_gate_up, d_share);
  check_launch("weighted_swiglu_backward");
}

}  // namespace sluice::engine::cuda
