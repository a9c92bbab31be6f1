// Attention of a sequence's next tokens over its kept keys and values, and the logits of its last
// token. The rules of engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>
#include <optional>

struct CUstream_st;

namespace sluice::engine::cuda {

struct KeptKeysShape {
  std::int64_t first = 0;  ///< Number of the sequence's tokens before the first query.
  std::int64_t count = 0;  ///< Number of queries, which are tokens [first, first + count).
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  ///< Number of elements of a head; even, at most 512.
  /// Number of elements of a head of values and of the result, even and at most head_dim; none for
  /// head_dim.
  std::optional<std::int64_t> value_dim = std::nullopt;
  /// Number of keys visible to a query, itself included; none for all.
  std::optional<std::int64_t> window = std::nullopt;
  /// Factor of scores; none for 1 / sqrt(head_dim).
  std::optional<float> scale = std::nullopt;
  float softcap = 0;  ///< Bound c of scores, which become c tanh(score / c); 0 for none.
  /// Logit of each head that joins the softmax without a value, bf16 [heads]; null for none.
  const std::uint16_t* sinks = nullptr;
};

/// Attention of a sequence's next tokens over its kept keys and values: out[i] = softmax(scale q[i]
/// keys^T | sink) values over the keys up to token first + i, by a running softmax in fp32. q: bf16
/// rows of `q_stride` elements; keys: bf16 [first + count, kv_heads * head_dim]; values: bf16
/// [first + count, kv_heads * value_dim]; out: bf16 [count, heads * value_dim].
void attend_kept(CUstream_st* stream, const KeptKeysShape& shape, const std::uint16_t* q,
                 std::int64_t q_stride, const std::uint16_t* keys, const std::uint16_t* values,
                 std::uint16_t* out);

/// Logits of one token: logits[v] = sum over h of weights[v, h] x[h], in fp32, with weights bf16
/// [vocab, hidden], x bf16 [hidden] and logits fp32 [vocab]. hidden is a multiple of 8.
void row_logits(CUstream_st* stream, const std::uint16_t* weights, const std::uint16_t* x,
                std::int64_t vocab, std::int64_t hidden, float* logits);

}  // namespace sluice::engine::cuda
