// The gated delta rule in chunks of 64 tokens (docs/design/gated-delta-net.md). The rules of
// engine/cuda/kernels/norm.hpp hold; sums are fp32, and factors of products are rounded to tf32,
// which bf16 values are already.
#pragma once

#include <cstddef>
#include <cstdint>

#include "planner/models/delta_net.hpp"
#include "planner/scratch/delta_scratch.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// Largest key_dim and value_dim of a head; both are multiples of kDeltaHeadStep.
inline constexpr std::int64_t kMostDeltaHead = 128;
inline constexpr std::int64_t kDeltaHeadStep = 16;

/// Inputs and scratch of the rule for `sequences` sequences of `length` tokens.
struct DeltaRule {
  planner::DeltaNet net;
  std::int64_t sequences, length;
  planner::DeltaPart part;  ///< What is computed at one time; it divides the sequences and heads.
  /// Position in its sequence of the first token of each token's document, int32 [tokens]; null
  /// where each sequence is one document.
  const std::int32_t* starts;
  const std::uint16_t*
      mixed;  ///< Queries, keys and values before they are normalised, bf16 [tokens, channels].
  const float* g;      ///< Logarithms of decays, fp32 [tokens, value_heads].
  const float* beta;   ///< Learning rates, fp32 [tokens, value_heads].
  float* lengths;      ///< Scratch, [tokens, 2 key_heads]: 1 / |q|, then 1 / |k|.
  std::byte* scratch;  ///< planner::delta_rule_space(net, part, length).total bytes.
};

/// With q and k normalised to length 1 (eps 1e-6 under the root), q divided by key_dim^1/2, and
/// S = 0 before each document:
///   S_t = exp(g_t) S_{t-1} + k_t beta_t (v_t - exp(g_t) S_{t-1}^T k_t)^T,   o_t = S_t^T q_t.
/// o is bf16 [tokens, value_heads, value_dim].
void delta_rule(CUstream_st* stream, const DeltaRule& rule, std::uint16_t* o);

/// Gradients that delta_rule_backward writes.
struct DeltaRuleGradients {
  std::uint16_t* mixed;  ///< bf16 [tokens, channels].
  float *g, *beta;       ///< fp32 [tokens, value_heads].
};
/// Backward pass of delta_rule, from d_o [tokens, value_heads, value_dim]; computes the states
/// before chunks again.
void delta_rule_backward(CUstream_st* stream, const DeltaRule& rule, const std::uint16_t* d_o,
                         const DeltaRuleGradients& gradients);

/// `tokens` more tokens of one document, one by one by the recurrence itself, from S before them in
/// `state`, fp32 [value_heads, key_dim, value_dim], which moves on. A text's bits do not depend on
/// the pieces that it is computed in; they differ from those of chunks by rounding.
void delta_rule_extend(CUstream_st* stream, const DeltaRule& rule, std::int64_t tokens,
                       float* state, std::uint16_t* o);

}  // namespace sluice::engine::cuda
