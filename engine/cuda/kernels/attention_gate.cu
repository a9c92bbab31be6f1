#include "engine/cuda/kernels/activations.cuh"
#include "engine/cuda/kernels/attention_gate.hpp"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    multiply(const std::uint16_t* attention, const std::uint16_t* gate, std::int64_t vectors,
             std::uint16_t* gated) {
  const std::int64_t v = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (v >= vectors) return;
  Eight a = Eight::unpack(load(attention, v * kVector));
  const Eight g = Eight::unpack(load(gate, v * kVector));
#pragma unroll
  for (int i = 0; i < kVector; ++i) a.value[i] *= fast_sigmoid(g.value[i]);
  store(gated, v * kVector, a.packed());
}

__global__ void __launch_bounds__(kThreads)
    multiply_backward(const std::uint16_t* attention, const std::uint16_t* gate,
                      std::int64_t vectors, std::uint16_t* d, std::uint16_t* d_gate) {
  const std::int64_t v = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (v >= vectors) return;
  Eight a = Eight::unpack(load(attention, v * kVector));
  const Eight g = Eight::unpack(load(gate, v * kVector));
  Eight gradient = Eight::unpack(load(d, v * kVector));
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    const float s = fast_sigmoid(g.value[i]);
    a.value[i] *= gradient.value[i] * (s * (1.0f - s));
    gradient.value[i] *= s;
  }
  store(d_gate, v * kVector, a.packed());
  store(d, v * kVector, gradient.packed());
}

unsigned blocks_of(std::int64_t elements) {
  check(elements > 0 && elements % kVector == 0, "a multiple of 8 elements");
  return static_cast<unsigned>(ceil_div(elements / kVector, kThreads));
}

}  // namespace

void gate_attention(CUstream_st* stream, const std::uint16_t* attention, const std::uint16_t* gate,
                    std::int64_t elements, std::uint16_t* gated) {
  check(aligned(attention, gate, gated), "gates are 16-byte aligned");
  multiply<<<blocks_of(elements), kThreads, 0, stream>>>(attention, gate, elements / kVector,
                                                         gated);
  check_launch("gate_attention");
}

void gate_attention_backward(CUstream_st* stream, const std::uint16_t* attention,
                             const std::uint16_t* gate, std::int64_t elements, std::uint16_t* d,
                             std::uint16_t* d_gate) {
  check(aligned(attention, gate, d, d_gate), "gates are 16-byte aligned");
  multiply_backward<<<blocks_of(elements), kThreads, 0, stream>>>(attention, gate,
                                                                  elements / kVector, d, d_gate);
  check_launch("gate_attention_backward");
}

}  // namespace sluice::engine::cuda
