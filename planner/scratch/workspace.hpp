// Byte offsets of the scratch of one compute task on the host backend. The planner sizes the
// workspace from it and the engine's templates bind kernels to it, so the two cannot disagree;
// docs/design/workspace.md.
#pragma once

#include <cstdint>

#include "planner/models/job.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Tokens whose operands are in fp32 at one time. Fixed, because it decides the order of the
/// additions of a weight gradient.
inline constexpr std::int64_t kTokenTile = 512;
/// Queries whose attention scores are in memory at one time.
inline constexpr std::int64_t kQueryTile = 64;
/// Largest number of elements of a weight matrix that are in fp32 at one time, in whole rows.
inline constexpr std::int64_t kWeightPanel = std::int64_t{1} << 20;

/// Rows of a [rows, cols] weight that are in fp32 at one time: a multiple of 16, or all rows.
[[nodiscard]] std::int64_t panel_rows(std::int64_t rows, std::int64_t cols);

/// Byte offsets of the routes of tokens to experts: T tokens, R = T * active routes in rows grouped
/// by expert, and in each group ordered by token. All empty without experts.
struct RouteWorkspace {
  Bytes mixed;  ///< fp32 [T, hidden]: sum over a token's experts, of outputs or of input gradients.
  Bytes expert;   ///< int32 [T, active]: a token's experts in ascending order.
  Bytes row;      ///< int32 [T, active]: the row of each route.
  Bytes token;    ///< int32 [R]: a row's token.
  Bytes share;    ///< fp32 [R]: a row's weight in its token's sum.
  Bytes d_share;  ///< fp32 [R]: gradient of `share`.
  Bytes begin;    ///< int32 [experts + 1]: first row of each expert.
  Bytes end;
};

/// Byte offsets of a block task's scratch, each a multiple of 256; elements are fp32 unless said. N
/// = token tile, S = seq_len, T = micro_tokens. Regions marked (bf16) are empty for fp32 compute,
/// whose operands are read in place. The tile regions and the attention regions overlap: no task
/// needs both at once.
struct BlockWorkspace {
  Bytes panel;            ///< Rows of one weight matrix in fp32.
  Bytes vector;           ///< One norm weight or bias in fp32.
  Bytes d_query;          ///< [T, heads * head_dim]: gradient of the attention output, then of q.
  Bytes d_key;            ///< [T, kv_heads * head_dim]: gradient of k.
  Bytes d_value;          ///< [T, kv_heads * head_dim]: gradient of v.
  RouteWorkspace routes;  ///< Routes to experts; shares memory with d_query, d_key and d_value.
  Bytes rstd;             ///< [N]: reciprocal RMS of a tile's tokens.
  Bytes input;     ///< (bf16, experts) [N, max(hidden, heads * head_dim)]: copy of an operand.
  Bytes incoming;  ///< (bf16, experts) [N, hidden]: copy of the stream gradient.
  Bytes normed;    ///< [N, hidden]: norm output, or the result of a product.
  Bytes d_normed;  ///< [N, hidden]: gradient of the norm output.
  /// [N, max(W, heads * head_dim, hidden)]: a product, then its gradient; W = intermediate, or the
  /// larger of an expert's intermediate and the number of experts.
  Bytes wide;
  Bytes d_wide;  ///< [N, W]: gradient of an intermediate tensor of the MLP or router.
  /// [min(N, mlp_chunk), intermediate] of the compute type: gate of an MLP in chunks; else empty.
  Bytes gate;
  /// [min(N, mlp_chunk), intermediate] of the compute type: up of an MLP in chunks; else empty.
  Bytes up;
  Bytes keys;      ///< [S, head_dim]: keys of one head.
  Bytes values;    ///< [S, head_dim]: values of one head.
  Bytes query;     ///< [query tile, head_dim]: queries of one head.
  Bytes output;    ///< [query tile, head_dim]: attention output of one head.
  Bytes scores;    ///< [query tile, S]: attention scores.
  Bytes d_scores;  ///< [query tile, S]: gradient of the attention scores.
  Bytes total;
};

/// Byte offsets of a loss task's scratch, each a multiple of 256; elements are fp32. C = tokens of
/// a loss chunk, at most micro_tokens.
struct HeadWorkspace {
  Bytes panel;
  Bytes vector;
  Bytes rstd;      ///< [C]: reciprocal RMS of each token.
  Bytes input;     ///< (bf16) [C, hidden]: copy of the head's input.
  Bytes normed;    ///< [C, hidden]: norm output.
  Bytes d_normed;  ///< [C, hidden]: gradient of the norm output.
  Bytes logits;    ///< [C, vocab]: logits, then their gradient.
  Bytes total;
};

[[nodiscard]] BlockWorkspace block_workspace(const Job& job);
[[nodiscard]] HeadWorkspace head_workspace(const Job& job);

}  // namespace sluice::planner
