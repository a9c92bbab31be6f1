// Where the scratch of one compute task lies. The planner sizes the workspace from it and the
// engine's templates bind kernels to it, so the two cannot disagree; docs/design/workspace.md.
#pragma once

#include <cstdint>

#include "planner/models/job.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Tokens whose operands are in fp32 at one time. Fixed: it decides the order of the additions of
/// a weight gradient.
inline constexpr std::int64_t kTokenTile = 512;
/// Queries whose scores are in memory at one time.
inline constexpr std::int64_t kQueryTile = 64;
/// Elements of a weight matrix that are in fp32 at one time, in whole rows.
inline constexpr std::int64_t kWeightPanel = std::int64_t{1} << 20;

/// Rows of a [rows, cols] weight that are in fp32 at one time: a multiple of 16, or all of them.
[[nodiscard]] std::int64_t panel_rows(std::int64_t rows, std::int64_t cols);

/// Which tokens go to which experts: R = T * active routes in rows grouped by expert, in each
/// expert's group by token. Empty without experts.
struct RouteWorkspace {
  Bytes mixed;    ///< fp32 [T, hidden] sum over a token's experts: outputs, or input gradients.
  Bytes expert;   ///< int32 [T, active] a token's experts in ascending order.
  Bytes row;      ///< int32 [T, active] the row of that route.
  Bytes token;    ///< int32 [R] a row's token.
  Bytes share;    ///< fp32 [R] a row's weight in its token's sum.
  Bytes d_share;  ///< fp32 [R]
  Bytes begin;    ///< int32 [experts + 1] first row of each expert.
  Bytes end;
};

/// Byte offsets of a block task's scratch, fp32 unless said, each a multiple of 256. N = token
/// tile, S = seq_len, T = micro_tokens. Regions marked (bf16) are empty for fp32 compute, whose
/// operands are read in place. The tile regions and the attention regions overlap: no task needs
/// both at once.
struct BlockWorkspace {
  Bytes panel;            ///< Rows of one weight matrix.
  Bytes vector;           ///< One norm weight or bias.
  Bytes d_query;          ///< [T, heads * head_dim] gradient of the attention output, then of q.
  Bytes d_key;            ///< [T, kv_heads * head_dim]
  Bytes d_value;          ///< [T, kv_heads * head_dim]
  RouteWorkspace routes;  ///< Shares memory with the three before: of feed-forward experts alone.
  Bytes rstd;             ///< [N] reciprocal RMS of a tile's tokens.
  Bytes input;            ///< (bf16, experts) [N, max(hidden, heads * head_dim)] operand copy.
  Bytes incoming;         ///< (bf16, experts) [N, hidden] copy of the stream gradient.
  Bytes normed;           ///< [N, hidden]
  Bytes d_normed;         ///< [N, hidden]
  Bytes wide;             ///< [N, max(W, heads * head_dim, hidden)] product, then its gradient; W =
                          ///< intermediate, or an expert's intermediate and the number of experts.
  Bytes d_wide;           ///< [N, W]
  Bytes gate;             ///< [min(N, mlp_chunk), intermediate] of the compute type, of an MLP in
                          ///< chunks only.
  Bytes up;               ///< The same.
  Bytes keys;             ///< [S, head_dim] of one head.
  Bytes values;           ///< [S, head_dim]
  Bytes query;            ///< [query tile, head_dim]
  Bytes output;           ///< [query tile, head_dim]
  Bytes scores;           ///< [query tile, S]
  Bytes d_scores;         ///< [query tile, S]
  Bytes total;
};

/// Byte offsets of a loss task's scratch. C = tokens of a loss chunk, at most T.
struct HeadWorkspace {
  Bytes panel;
  Bytes vector;
  Bytes rstd;      ///< [C]
  Bytes input;     ///< (bf16) [C, hidden]
  Bytes normed;    ///< [C, hidden]
  Bytes d_normed;  ///< [C, hidden]
  Bytes logits;    ///< [C, vocab], then their gradient.
  Bytes total;
};

[[nodiscard]] BlockWorkspace block_workspace(const Job& job);
[[nodiscard]] HeadWorkspace head_workspace(const Job& job);

}  // namespace sluice::planner
