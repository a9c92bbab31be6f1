// Cross-entropy of a chunk of tokens, its gradient in place of the logits, and the sum of losses.
// The rules of engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace sluice::engine::cuda {

/// Change that makes logits of a product's results x: factor x, or c tanh(factor x / c) where there
/// is a bound c.
struct LogitChange {
  float factor = 1;
  float bound = 0;  ///< 0 for no bound.
  [[nodiscard]] bool changes() const { return factor != 1 || bound != 0; }
};

/// Cross-entropy of each token, and its gradient in place of the logits: loss[t] = log(sum over v
/// of exp(logits[t, v])) - logits[t, targets[t]], and logits[t] becomes scale * (softmax(logits[t])
/// - onehot(targets[t])). logits bf16 [tokens, vocab], targets [tokens] below vocab, loss fp32
/// [tokens]. A negative target is ignored: its loss and its row become zero. vocab is a multiple of
/// 8. `scale` is the weight of one token in the step's loss. With a `change` the logits are what it
/// makes of the values in memory, and the gradient is that of these values.
void cross_entropy(CUstream_st* stream, std::uint16_t* logits, const std::int32_t* targets,
                   std::int64_t tokens, std::int64_t vocab, float scale, float* loss,
                   const LogitChange& change = {});

/// Computes only the losses of cross_entropy, with the same bits; the logits are left as they are.
void cross_entropy_loss(CUstream_st* stream, const std::uint16_t* logits,
                        const std::int32_t* targets, std::int64_t tokens, std::int64_t vocab,
                        float* loss, const LogitChange& change = {});

/// Makes logits of the results of a product, fp32 [elements], in place.
void change_logits(CUstream_st* stream, const LogitChange& change, std::int64_t elements,
                   float* logits);

/// *sum = sum of loss[0 .. tokens), in double and in a fixed order. `sum` may be mapped host
/// memory.
void sum_losses(CUstream_st* stream, const float* loss, std::int64_t tokens, double* sum);

}  // namespace sluice::engine::cuda
