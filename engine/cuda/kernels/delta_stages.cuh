// Stages of the gated delta rule over one part, in the order in which they run, and their launch.
#pragma once

#include "engine/cuda/kernels/delta_tile.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {

/// Writes 1 / |q| and 1 / |k| of all tokens and key heads.
void delta_lengths(CUstream_st* stream, const DeltaRule& rule);
/// For all chunks at a time: gamma, U, W and P, and (I + A)^-1 if `backward`.
void delta_systems(CUstream_st* stream, const DeltaPartView& part, bool backward);
/// Walks through chunks in order: o, if not null; else N, and the states before chunks.
void delta_states(CUstream_st* stream, const DeltaPartView& part, std::uint16_t* o);
/// Walks back through chunks: dN, and the gradients of states before chunks.
void delta_states_backward(CUstream_st* stream, const DeltaPartView& part,
                           const std::uint16_t* d_o);
/// For all chunks at a time: dQ, dK, and the gradients of v, g and beta.
void delta_chunk_gradients(CUstream_st* stream, const DeltaPartView& part, const std::uint16_t* d_o,
                           const DeltaRuleGradients& gradients);
/// Writes the gradients of q and k before they were normalised, from dQ and dK.
void delta_lengths_backward(CUstream_st* stream, const DeltaPartView& part,
                            const DeltaRuleGradients& gradients);

/// Calls body(std::integral_constant<int, W>) with W = 128 where heads have 128 elements, which
/// most models' have, else with 0: sizes are then read at run time.
template <class Body>
void with_head_width(const DeltaPartView& part, const Body& body) {
  if (part.key_dim == kMostDeltaHead && part.value_dim == kMostDeltaHead) {
    return body(std::integral_constant<int, static_cast<int>(kMostDeltaHead)>{});
  }
  body(std::integral_constant<int, 0>{});
}

/// Allows `kernel` the dynamic shared memory of `bytes`. Throws EnvironmentError where the GPU's
/// blocks have less.
template <class Kernel>
void allow_shared(Kernel* kernel, std::size_t bytes) {
  const cudaError_t status = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  throw EnvironmentError("gated delta nets of these heads need " + std::to_string(bytes) +
                         " bytes of shared memory in a thread block, which this GPU refuses: " +
                         cudaGetErrorString(status));
}

/// Bytes that a struct of shared matrices takes.
template <class Space>
[[nodiscard]] std::size_t shared_bytes(int key_dim, int value_dim) {
  SharedSpace space(nullptr);
  Space counted(space, key_dim, value_dim);
  return static_cast<std::size_t>(space.end() - static_cast<unsigned char*>(nullptr));
}

}  // namespace sluice::engine::cuda
