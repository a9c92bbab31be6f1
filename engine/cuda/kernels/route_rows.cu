#include "engine/cuda/kernels/activations.cuh"
#include "engine/cuda/kernels/routes.hpp"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarp;

/// One block per token.
__global__ void __launch_bounds__(kThreads)
    combine(const std::uint16_t* rows, const std::int32_t* row, int active, CombinedWith with,
            std::int64_t width, std::uint16_t* out) {
  const std::int64_t token = blockIdx.x;
  for (std::int64_t column = threadIdx.x * kVector; column < width;
       column += std::int64_t{kThreads} * kVector) {
    Eight sum{};
    for (int i = 0; i < active; ++i) {
      const Eight each = Eight::unpack(load(rows, row[token * active + i] * width + column));
#pragma unroll
      for (int j = 0; j < kVector; ++j) sum.value[j] += each.value[j];
    }
    if (with.shared != nullptr) {
      const Eight each = Eight::unpack(load(with.shared, token * width + column));
#pragma unroll
      for (int j = 0; j < kVector; ++j) sum.value[j] += each.value[j];
    }
    const Eight start = Eight::unpack(load(with.base, token * width + column));
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      sum.value[j] = __fadd_rn(__fmul_rn(with.factor, sum.value[j]), start.value[j]);
    }
    store(out, token * width + column, sum.packed());
  }
}

/// One block per row.
template <class Function>
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
      gate.value[i] = rounded(Function::of(gate.value[i], up.value[i])) * weight;
    }
    store(activation, row * width + column, gate.packed());
  }
}

/// One block per row.
template <class Function>
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
      const ActivationSlopes slopes =
          Function::slopes(gate.value[i], up.value[i], d.value[i] * weight);
      const float plain = rounded(slopes.value);
      sum += d.value[i] * plain;
      activation.value[i] = plain * weight;
      d_gate.value[i] = slopes.d_gate;
      d_up.value[i] = slopes.d_up;
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
                  const RouteArrays& routes, const CombinedWith& with, std::int64_t width,
                  std::uint16_t* out) {
  check_rows(shape.tokens, width);
  check(aligned(rows, with.base, with.shared, out), "rows are 16-byte aligned");
  combine<<<static_cast<unsigned>(shape.tokens), kThreads, 0, stream>>>(
      rows, routes.row, static_cast<int>(shape.active), with, width, out);
  check_launch("combine_rows");
}

void weighted_activation(CUstream_st* stream, planner::Activation function,
                         const std::uint16_t* gate_up, const float* share, std::int64_t rows,
                         std::int64_t width, std::uint16_t* activation) {
  check_rows(rows, width);
  check(planner::has_gate(function), "an expert has a gate");
  check(aligned(gate_up, activation), "gate, up and activation are 16-byte aligned");
  with_activation(function, [&](auto chosen) {
    weigh_forward<decltype(chosen)>
        <<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(gate_up, share, width, activation);
  });
  check_launch("weighted_activation");
}

void weighted_activation_backward(CUstream_st* stream, planner::Activation function,
                                  const std::uint16_t* gate_up, const float* share,
                                  std::int64_t rows, std::int64_t width,
                                  std::uint16_t* d_activation, std::uint16_t* d_gate_up,
                                  float* d_share) {
  check_rows(rows, width);
  check(planner::has_gate(function), "an expert has a gate");
  check(aligned(gate_up, d_activation, d_gate_up), "gate, up and gradients are 16-byte aligned");
  with_activation(function, [&](auto chosen) {
    weigh_backward<decltype(chosen)><<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(
        gate_up, share, width, d_activation, d_gate_up, d_share);
  });
  check_launch("weighted_activation_backward");
}

}  // namespace sluice::engine::cuda
