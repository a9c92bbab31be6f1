// Gates on attention's output: the sigmoid of a projection multiplies it, element by element. The
// rules of engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace sluice::engine::cuda {

/// gated[i] = attention[i] / (1 + exp(-gate[i])), all bf16. elements is a multiple of 8.
void gate_attention(CUstream_st* stream, const std::uint16_t* attention, const std::uint16_t* gate,
                    std::int64_t elements, std::uint16_t* gated);

/// Backward pass of gate_attention. With s = 1 / (1 + exp(-gate)), the function writes
/// d_gate = d attention s (1 - s) and turns d from the gradient of the result into d s, that of
/// attention's output.
void gate_attention_backward(CUstream_st* stream, const std::uint16_t* attention,
                             const std::uint16_t* gate, std::int64_t elements, std::uint16_t* d,
                             std::uint16_t* d_gate);

}  // namespace sluice::engine::cuda
