// Attention over scores that lie in memory: products of a block of queries with the keys that they
// see, softmax, and the products behind it, all with tensor cores in tiles of 128 x 128. Sums have
// one order. The rules of engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace sluice::engine::cuda {

/// A block of queries of the heads of a run, and the keys that they see. Scores are arrays
/// [sequences, heads, queries, score_row]. Rows of tokens and heads within them lie as
/// planner::AttentionShape says; addresses are those of the run's first sequence and head.
struct ScoreBlock {
  /// Sizes of the run: sequences, heads of queries and heads of keys.
  std::int64_t sequences = 0, heads = 0, kv_heads = 0;
  std::int64_t length = 0;    ///< Tokens of a sequence.
  std::int64_t head_dim = 0;  ///< A multiple of 8.
  std::int64_t first_query = 0, queries = 0;
  std::int64_t first_key = 0, keys = 0;  ///< Keys end where queries do.
  std::int64_t score_row = 0;            ///< A multiple of 128, at least `keys`.
  std::int64_t window = 0;               ///< Keys visible to a query; 0 for all before it.
  std::int64_t lse_heads = 0;            ///< Heads of a sequence in arrays of log-sum-exp.
  float scale = 1;                       ///< Factor of products.
  float softcap = 0;                     ///< Bound of scores; 0 for none.
  /// Position of the first key that a query may see, int32 [sequences, length]; null for 0.
  const std::int32_t* starts = nullptr;
};

/// Rows of heads of all tokens, `stride` elements from token to token, bf16.
struct HeadRows {
  const std::uint16_t* data;
  std::int64_t stride;
};

/// products[i, j] = queries[i] . keys[j], fp32, in tiles that hold a visible score; others are left
/// as they are.
void multiply_pairs(CUstream_st* stream, const ScoreBlock& block, const HeadRows& queries,
                    const HeadRows& keys, float* products);

/// weights[i] = softmax over visible keys of the scores that `products` give, bf16, and zero
/// elsewhere; lse [sequences, lse_heads, length] receives their log-sum-exp.
void softmax_rows(CUstream_st* stream, const ScoreBlock& block, const float* products,
                  std::uint16_t* weights, float* lse);

/// out[i] = sum over j of weights[i, j] values[j], bf16, in rows of out_stride elements.
void weigh_keys(CUstream_st* stream, const ScoreBlock& block, const std::uint16_t* weights,
                const HeadRows& values, std::uint16_t* out, std::int64_t out_stride);

/// Softmax's backward pass. weights = e^(score - lse), and d_products[i, j], the gradient of
/// products, = weight (d_weights - d_out[i] . out[i]) scale, times 1 - (score / c)^2 under a bound
/// c: both bf16, zero for keys that a query does not see.
void softmax_rows_backward(CUstream_st* stream, const ScoreBlock& block, const float* products,
                           const float* d_weights, const float* lse, const HeadRows& out,
                           const HeadRows& d_out, std::uint16_t* weights,
                           std::uint16_t* d_products);

/// sums[j] += sum over the block's queries i of head `member` of each group of weights[i, j]
/// rows[i], with sums fp32 [sequences, kv_heads, length, head_dim].
void add_over_queries(CUstream_st* stream, const ScoreBlock& block, std::int64_t member,
                      const std::uint16_t* weights, const HeadRows& rows, float* sums);

/// Rounds sums over queries, fp32 [sequences, kv_heads, length, head_dim], to rows of tokens.
void round_keys(CUstream_st* stream, const ScoreBlock& block, const float* sums,
                std::uint16_t* rows, std::int64_t stride);

}  // namespace sluice::engine::cuda
