// Scratch of a gated delta net on a CUDA device: what lies between its kernels
// (docs/design/gated-delta-net.md).
#pragma once

#include <cstdint>

#include "planner/models/delta_net.hpp"
#include "planner/models/job.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// What one run of the rule's kernels covers: some sequences of a micro-batch and some key heads,
/// each with all value heads that it serves. Results do not depend on it.
struct DeltaPart {
  std::int64_t sequences = 0, key_heads = 0;
  friend bool operator==(const DeltaPart&, const DeltaPart&) = default;
};

/// The largest part whose arrays take no more than a fixed limit, if any does: fewer sequences
/// first, then fewer heads. Both divide what there is.
[[nodiscard]] DeltaPart delta_part(const DeltaNet& net, std::int64_t sequences,
                                   std::int64_t length);

/// Number of states of a sequence that are kept before chunks. A chunk that does not begin its
/// document begins at least kDeltaChunk tokens behind the one before it, so that its token divided
/// by kDeltaChunk numbers it, however sequences are cut into documents.
[[nodiscard]] constexpr std::int64_t delta_states(std::int64_t length) {
  return (length + kDeltaChunk - 1) / kDeltaChunk;
}

/// Byte offsets of the arrays of one part, fp32 and each a multiple of 256; "rows" are the tokens
/// of the part, "heads" its value heads, K = key_dim and V = value_dim.
struct DeltaRuleSpace {
  Bytes sums;       ///< Offset of [rows, heads]: gamma, the sum of g from the chunk's begin on.
  Bytes added;      ///< Offset of [rows, heads, V]: U = (I + A)^-1 diag(beta) V, then N.
  Bytes erased;     ///< Offset of [rows, heads, K]: W = (I + A)^-1 diag(beta E) K, then dQ.
  Bytes attention;  ///< Offset of [rows, heads, chunk]: P.
  Bytes system;     ///< Offset of [rows, heads, chunk]: (I + A)^-1.
  Bytes d_added;    ///< Offset of [rows, heads, max(K, V)]: dN, then dK.
  Bytes states;     ///< Offset of [delta_states of each sequence, heads, K, V]: S before chunks.
  Bytes d_states;   ///< Offset of the same: gradient of S before chunks.
  Bytes total;
};
[[nodiscard]] DeltaRuleSpace delta_rule_space(const DeltaNet& net, const DeltaPart& part,
                                              std::int64_t length);

/// Elements of a token's row of projections: [q k v gate rates decays].
[[nodiscard]] constexpr std::int64_t delta_row(const DeltaNet& net) {
  return net.channels() + net.values() + 2 * net.value_heads;
}

/// Byte offsets of a gated delta net's scratch, from the beginning of its range on, each a multiple
/// of 256.
struct CudaDeltaSpace {
  Bytes mixed;     ///< Offset of bf16 [tokens, channels]: the convolution's output.
  Bytes d_mixed;   ///< Offset of bf16 [tokens, channels]: its gradient.
  Bytes d_rows;    ///< Offset of bf16 [tokens, delta_row]: gradients of projections.
  Bytes output;    ///< Offset of bf16 [tokens, values]: the norm's output.
  Bytes d_output;  ///< Offset of bf16 [tokens, values]: its gradient, then that of its input.
  Bytes lengths;   ///< Offset of fp32 [tokens, 2 key_heads]: 1 / |q|, then 1 / |k|.
  Bytes decay;     ///< Offset of fp32 [tokens, value_heads]: g.
  Bytes beta;      ///< Offset of fp32 [tokens, value_heads].
  Bytes d_decay;   ///< Offset of fp32 [tokens, value_heads].
  Bytes d_beta;    ///< Offset of fp32 [tokens, value_heads].
  Bytes starts;    ///< Offset of int32 [tokens]: position at which each token's document begins.
  Bytes rule;      ///< Offset of the arrays of a DeltaRuleSpace; empty where sequences are split.
  Bytes total;
};
/// Scratch of the job's gated delta nets, all zero where the model has none.
[[nodiscard]] CudaDeltaSpace cuda_delta_space(const Job& job);

}  // namespace sluice::planner
