// The switch of an expert that all tokens pass through: the sigmoid of a logit of each token is the
// share of the expert in the token's result. The rules of engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace sluice::engine::cuda {

/// shares[t] = 1 / (1 + exp(-shares[t])), fp32 [tokens]; logits before.
void switch_shares(CUstream_st* stream, std::int64_t tokens, float* shares);

/// Gradient of the logits from that of the shares: d_logits[t] = d_shares[t] s (1 - s) with s =
/// shares[t], rounded to bf16, in rows of router_row(1) elements with zeros behind the first.
void switch_shares_backward(CUstream_st* stream, const float* shares, const float* d_shares,
                            std::int64_t tokens, std::uint16_t* d_logits);

}  // namespace sluice::engine::cuda
