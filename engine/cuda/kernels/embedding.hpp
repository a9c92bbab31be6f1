// The token embedding and its gradient. The rules of engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/into.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// Looks up each token's row of the embedding: out[t] = factor * weights[ids[t]], with weights bf16
/// [vocab, hidden] and out bf16 [tokens, hidden]. ids [tokens] are in [0, vocab), or ~id where a
/// document begins. hidden is a multiple of 8.
void embed(CUstream_st* stream, const std::uint16_t* weights, const std::int32_t* ids,
           std::int64_t tokens, std::int64_t hidden, std::uint16_t* out, float factor = 1);

/// Gradient of the embedding: gradient[ids[t]] += factor * d_out[t], for each row in the order of
/// t, with gradient fp32 [vocab, hidden] and d_out bf16 [tokens, hidden]. Into::accumulate touches
/// only the rows of `ids`; Into::overwrite zeroes all rows first. Reads O(tokens^2) ids, so it
/// suits micro-batches of up to some 10^4 tokens.
void embed_backward(CUstream_st* stream, const std::int32_t* ids, const std::uint16_t* d_out,
                    std::int64_t tokens, std::int64_t hidden, std::int64_t vocab, float* gradient,
                    Into into, float factor = 1);

}  // namespace sluice::engine::cuda
