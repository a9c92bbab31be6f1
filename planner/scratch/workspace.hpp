// Byte offsets of the scratch of one compute task on the host backend. The planner sizes the
// workspace from them and the engine's templates bind kernels to them, so the two cannot disagree;
// docs/design/workspace.md.
#pragma once

#include <cstdint>

#include "planner/models/job.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Number of tokens whose operands are in fp32 at one time. It is fixed, because it decides the
/// order of the additions of a weight gradient.
inline constexpr std::int64_t kTokenTile = 512;
/// Number of queries whose attention scores are in memory at one time.
inline constexpr std::int64_t kQueryTile = 64;
/// Largest number of elements of a weight matrix that are in fp32 at one time; they are whole rows.
inline constexpr std::int64_t kWeightPanel = std::int64_t{1} << 20;

/// Number of rows of a [rows, cols] weight matrix that are in fp32 at one time: a multiple of 16,
/// or all rows.
[[nodiscard]] std::int64_t panel_rows(std::int64_t rows, std::int64_t cols);

/// Byte offsets of a host task's scratch for routes of tokens to experts. A micro-batch has tokens
/// x active routes, each with a row; rows are grouped by expert, and in each group ordered by
/// token. All empty without experts.
struct RouteWorkspace {
  /// Offset of fp32 [tokens, hidden]: sum over each token's experts, of their outputs or of their
  /// input gradients.
  Bytes mixed;
  Bytes expert;   ///< Offset of int32 [tokens, active]: each token's experts in ascending order.
  Bytes row;      ///< Offset of int32 [tokens, active]: the row of each of a token's routes.
  Bytes token;    ///< Offset of int32 [routes]: the token whose route each row is.
  Bytes share;    ///< Offset of fp32 [routes]: weight of each row in its token's sum.
  Bytes d_share;  ///< Offset of fp32 [routes]: gradient of `share`.
  /// Offset of int32 [experts + 1]: first row of each expert, then the number of rows.
  Bytes begin;
  Bytes end;
};

/// Byte offsets of a host task's scratch for a gated delta net, over the tokens of one sequence at
/// a time; fp32 unless said. All empty without one.
struct DeltaWorkspace {
  Bytes bounds;       ///< Offset of int64 [seq_len + 1]: first tokens of documents, then the end.
  Bytes conv;         ///< Offset of [channels, taps]: weights of the convolution.
  Bytes rate;         ///< Offset of [value_heads]: logarithms of rates of decay.
  Bytes bias;         ///< Offset of [value_heads]: biases of decays.
  Bytes inputs;       ///< Offset of [seq_len, channels]: q, k and v as projected.
  Bytes mixed;        ///< Offset of [seq_len, channels]: outputs of the convolution.
  Bytes d_mixed;      ///< Offset of [seq_len, channels]: their gradients, or outputs of the rule.
  Bytes beta, decay;  ///< Offsets of [seq_len, value_heads]: what the projections gave.
  Bytes rates,
      decays;  ///< Offsets of [seq_len, value_heads]: learning rates, logarithms of decays.
  Bytes rule;  ///< Offset of [delta_rule_floats]: scratch of the rule.
};

/// Byte offsets of a host task's scratch for the narrow projections of latent attention, over the
/// tokens of a tile; fp32. W is the wider of the two. All empty without latent attention.
struct LatentWorkspace {
  Bytes input;     ///< Offset of [tile tokens, W]: copy of a narrow projection (bf16).
  Bytes normed;    ///< Offset of [tile tokens, W]: its norm.
  Bytes d_normed;  ///< Offset of [tile tokens, W]: gradient of the norm's output.
  Bytes rstd;      ///< Offset of [tile tokens]: reciprocal RMS of each token in that norm.
  Bytes d_query;   ///< Offset of [tile tokens, query_rank]: gradient of what makes queries.
  Bytes d_key;     ///< Offset of [tile tokens, rank]: gradient of what makes keys and values.
};

/// Elements of scratch of one chunk of the rule, for one head.
[[nodiscard]] std::int64_t delta_chunk_floats(const DeltaNet& net);
/// Elements of scratch of the rule for documents of at most `longest` tokens: a chunk, states
/// before the chunks of a document, a state and its gradient, outputs of a chunk and their
/// gradients.
[[nodiscard]] std::int64_t delta_rule_floats(const DeltaNet& net, std::int64_t longest);

/// Byte offsets of a block task's scratch on the host, each a multiple of 256; elements are fp32
/// unless said. "Tokens" are those of a micro-batch, "tile tokens" those of a tile (kTokenTile).
/// Regions marked (bf16) are empty for fp32 compute, whose operands are read in place. The tile
/// regions and the attention regions overlap: no task needs both at once.
struct BlockWorkspace {
  Bytes panel;   ///< Offset of rows (panel_rows) of one weight matrix in fp32.
  Bytes vector;  ///< Offset of one norm weight or bias in fp32.
  /// Offset of [tokens, heads * head_dim]: gradient of the attention output, then of q. Here and
  /// below widths are the largest of all kinds of layers.
  Bytes d_query;
  /// Offset of [tokens, kv_heads * head_dim]: gradient of k; with latent attention that of whole
  /// keys, then, [tokens, heads * plain], that of k.
  Bytes d_key;
  Bytes d_value;  ///< Offset of [tokens, kv_heads * head_dim]: gradient of v.
  /// Offset of [tokens, heads * head_dim]: gradient of the projection whose sigmoid multiplies
  /// attention's output; empty without one.
  Bytes d_attention_gate;
  /// Offset of [tokens, values]: gradient of a gated delta net's output, or of latent attention's,
  /// [tokens, heads * value]; empty without these.
  Bytes d_linear;
  /// Offset of [tokens, rotated]: gradient of the key that heads of latent attention share.
  Bytes d_shared_key;
  /// Offsets of [tokens, value_heads]: gradients of the projections of which learning rates and
  /// decays are made; empty without a gated delta net.
  Bytes d_beta, d_decay;
  /// Offsets for routes to experts; they share memory with d_query, d_key and d_value.
  RouteWorkspace routes;
  Bytes rstd;  ///< Offset of [tile tokens]: reciprocal RMS of each token in a norm.
  /// Offset of [tile tokens, max(hidden, heads * head_dim)]: copy of a product's operand (bf16,
  /// experts).
  Bytes input;
  /// Offset of [tile tokens, hidden]: copy of the residual stream's gradient (bf16, experts).
  Bytes incoming;
  /// Offset of [tile tokens, hidden]: gradient of a sublayer's output, where that is not the
  /// residual stream's gradient; else empty.
  Bytes branch;
  Bytes normed;  ///< Offset of [tile tokens, hidden]: output of a norm, or the result of a product.
  Bytes d_normed;  ///< Offset of [tile tokens, hidden]: gradient of a norm's output.
  /// Offset of [tile tokens, max(W, heads * head_dim, hidden)]: a product, then its gradient; W is
  /// the largest of the widths of MLPs, of an expert and of the shared one, and the number of
  /// experts.
  Bytes wide;
  /// Offset of [tile tokens, W as for `wide`]: gradient of an intermediate tensor of the MLP or
  /// router.
  Bytes d_wide;
  /// Offsets of [tile tokens, max(W, heads * head_dim, hidden)]: a product's operands rounded to
  /// FP8; empty for other compute types.
  Bytes quantized, quantized_gradient;
  /// Offset of [min(tile tokens, mlp_chunk), intermediate] of the compute type: gate where the MLP
  /// is computed in chunks; else empty.
  Bytes gate;
  /// Offset of [min(tile tokens, mlp_chunk), intermediate] of the compute type: up projection where
  /// the MLP is computed in chunks; else empty.
  Bytes up;
  Bytes keys;            ///< Offset of [seq_len, head_dim]: keys of one head.
  Bytes values;          ///< Offset of [seq_len, elements of a head of v]: values of one head.
  Bytes query;           ///< Offset of [query tile, head_dim]: queries of one head.
  Bytes output;          ///< Offset of [query tile, elements of a head of v]: attention output.
  Bytes scores;          ///< Offset of [query tile, seq_len]: attention scores.
  Bytes d_scores;        ///< Offset of [query tile, seq_len]: gradient of the attention scores.
  DeltaWorkspace delta;  ///< Offsets that share memory with the tile and the attention regions.
  LatentWorkspace latent;
  Bytes total;
};

/// Byte offsets of a loss task's scratch on the host, each a multiple of 256; elements are fp32.
/// "Chunk tokens" are those of a loss chunk, at most those of a micro-batch. Regions marked (bf16)
/// are empty for fp32 compute.
struct HeadWorkspace {
  Bytes panel;
  Bytes vector;
  Bytes rstd;      ///< Offset of [chunk tokens]: reciprocal RMS of each token in the final norm.
  Bytes input;     ///< Offset of [chunk tokens, hidden]: copy of the head's input (bf16).
  Bytes normed;    ///< Offset of [chunk tokens, hidden]: output of the final norm.
  Bytes d_normed;  ///< Offset of [chunk tokens, hidden]: gradient of the final norm's output.
  Bytes logits;    ///< Offset of [chunk tokens, vocab]: logits, then their gradient.
  Bytes total;
};

[[nodiscard]] BlockWorkspace block_workspace(const Job& job);
[[nodiscard]] HeadWorkspace head_workspace(const Job& job);

}  // namespace sluice::planner
