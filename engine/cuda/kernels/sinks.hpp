// Sinks: a learned logit of each head that joins attention's softmax without a value of its own.
// The rules of engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/into.hpp"
#include "sim/units.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// Sizes of an attention's result: `out` is bf16 [sequences * length, heads * head_dim], `lse` fp32
/// [sequences, heads, length].
struct SinkShape {
  std::int64_t sequences = 0, length = 0, heads = 0, head_dim = 0;
};

/// Joins sinks, bf16 [heads], to the softmax of a result without them, in place: with lse' =
/// log(e^lse + e^sink), out *= e^(lse - lse'), and lse becomes lse'.
void join_sinks(CUstream_st* stream, const SinkShape& shape, const std::uint16_t* sinks,
                std::uint16_t* out, float* lse);

/// Gradient of the sinks, fp32 [heads], from results that join_sinks made and the gradient d_out of
/// `out`: d_sinks (+)= -sum over tokens of e^(sink - lse) (d_out . out), in a fixed order.
/// `workspace` holds sinks_workspace(shape) bytes.
void sinks_backward(CUstream_st* stream, const SinkShape& shape, const std::uint16_t* sinks,
                    const std::uint16_t* out, const float* lse, const std::uint16_t* d_out,
                    float* d_sinks, Into into, void* workspace);
[[nodiscard]] Bytes sinks_workspace(const SinkShape& shape);

}  // namespace sluice::engine::cuda
