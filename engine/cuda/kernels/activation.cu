#include "engine/cuda/kernels/activation.hpp"
#include "engine/cuda/kernels/activations.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 128;

/// Work of a thread: one vector of columns in `Rows` rows.
struct Place {
  std::int64_t row;
  std::int64_t column;
};
template <int Rows>
__device__ Place place(unsigned column_blocks) {
  return {
      static_cast<std::int64_t>(blockIdx.x / column_blocks) * Rows,
      (static_cast<std::int64_t>(blockIdx.x % column_blocks) * kThreads + threadIdx.x) * kVector};
}

template <class Function, int Rows>
__global__ void __launch_bounds__(kThreads)
    gate_forward(GateUp in, std::int64_t tokens, std::int64_t width, unsigned column_blocks,
                 std::uint16_t* activation) {
  const auto [row, column] = place<Rows>(column_blocks);
  if (column >= width) return;
  uint4 gate[Rows], up[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (row + r >= tokens) break;
    gate[r] = make_uint4(0, 0, 0, 0);
    if (Function::kGated) gate[r] = load(in.gate, (row + r) * in.stride + column);
    up[r] = load(in.up, (row + r) * in.stride + column);
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (row + r >= tokens) break;
    Eight g = Eight::unpack(gate[r]);
    const Eight u = Eight::unpack(up[r]);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      g.value[i] = Function::of(g.value[i], u.value[i]);
    }
    store(activation, (row + r) * width + column, g.packed());
  }
}

template <class Function, int Rows>
__global__ void __launch_bounds__(kThreads)
    gate_backward(GateUp in, const std::uint16_t* d_activation, std::int64_t tokens,
                  std::int64_t width, unsigned column_blocks, ActivationGradients out) {
  const auto [row, column] = place<Rows>(column_blocks);
  if (column >= width) return;
  uint4 gate[Rows], up[Rows], d_act[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (row + r >= tokens) break;
    gate[r] = make_uint4(0, 0, 0, 0);
    if (Function::kGated) gate[r] = load(in.gate, (row + r) * in.stride + column);
    up[r] = load(in.up, (row + r) * in.stride + column);
    d_act[r] = load(d_activation, (row + r) * width + column);
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (row + r >= tokens) break;
    const Eight g = Eight::unpack(gate[r]);
    const Eight u = Eight::unpack(up[r]);
    const Eight d = Eight::unpack(d_act[r]);
    Eight d_gate, d_up, activation;
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const ActivationSlopes slopes = Function::slopes(g.value[i], u.value[i], d.value[i]);
      d_gate.value[i] = slopes.d_gate;
      d_up.value[i] = slopes.d_up;
      activation.value[i] = slopes.value;
    }
    if (Function::kGated) store(out.d_gate, (row + r) * out.stride + column, d_gate.packed());
    store(out.d_up, (row + r) * out.stride + column, d_up.packed());
    if (out.activation != nullptr) {
      store(out.activation, (row + r) * width + column, activation.packed());
    }
  }
}

void check_matrices(const GateUp& in, std::int64_t tokens, std::int64_t width) {
  check(tokens > 0, "an activation has rows");
  check(width > 0 && width % kVector == 0 && in.stride % kVector == 0 && in.stride >= width,
        "width and row stride of gate and up are multiples of 8");
  check(aligned(in.gate, in.up), "gate and up are 16-byte aligned");
}

}  // namespace

void activate(CUstream_st* stream, planner::Activation function, const GateUp& in,
              std::int64_t tokens, std::int64_t width, std::uint16_t* activation) {
  check_matrices(in, tokens, width);
  check(aligned(activation), "the activation is 16-byte aligned");
  constexpr int kRows = 2;
  const std::int64_t column_blocks = ceil_div(width / kVector, kThreads);
  const auto blocks = static_cast<unsigned>(column_blocks * ceil_div(tokens, kRows));
  with_activation(function, [&](auto chosen) {
    gate_forward<decltype(chosen), kRows><<<blocks, kThreads, 0, stream>>>(
        in, tokens, width, static_cast<unsigned>(column_blocks), activation);
  });
  check_launch("activate");
}

void activate_backward(CUstream_st* stream, planner::Activation function, const GateUp& in,
                       const std::uint16_t* d_activation, std::int64_t tokens, std::int64_t width,
                       const ActivationGradients& gradients) {
  check_matrices(in, tokens, width);
  check(gradients.stride % kVector == 0 && gradients.stride >= width,
        "the row stride of gate's and up's gradients is a multiple of 8");
  check(aligned(d_activation, gradients.d_gate, gradients.d_up, gradients.activation),
        "the gradients of gate and up are 16-byte aligned");
  constexpr int kRows = 2;
  const std::int64_t column_blocks = ceil_div(width / kVector, kThreads);
  const auto blocks = static_cast<unsigned>(column_blocks * ceil_div(tokens, kRows));
  with_activation(function, [&](auto chosen) {
    gate_backward<decltype(chosen), kRows><<<blocks, kThreads, 0, stream>>>(
        in, d_activation, tokens, width, static_cast<unsigned>(column_blocks), gradients);
  });
  check_launch("activate_backward");
}

}  // namespace sluice::engine::cuda
