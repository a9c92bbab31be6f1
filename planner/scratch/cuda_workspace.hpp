// Byte offsets of the scratch of one compute task on a CUDA device.
#pragma once

#include "planner/models/job.hpp"
#include "planner/models/muon.hpp"
#include "planner/scratch/attention_shape.hpp"
#include "planner/scratch/delta_scratch.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Byte offsets of a CUDA task's scratch for a mixture of experts (engine/cuda/kernels/routes.hpp).
/// A micro-batch has tokens x active routes, each with a row; rows are grouped by expert. All empty
/// without experts.
struct CudaRouteWorkspace {
  Bytes expert;   ///< Offset of int32 [tokens, active]: the experts that each token goes to.
  Bytes row;      ///< Offset of int32 [tokens, active]: the row of each of a token's routes.
  Bytes token;    ///< Offset of int32 [routes]: the token whose route each row is.
  Bytes share;    ///< Offset of fp32 [routes]: weight of each row in its token's sum.
  Bytes d_share;  ///< Offset of fp32 [routes]: gradient of `share`.
  /// Offset of int32 [experts + 1]: first row of each expert, then the number of rows.
  Bytes begin;
  Bytes tiles;  ///< Offset of int32 [route_tiles(), 2]: the tiles of rows on which products work.
  /// Offset of int32 or fp32 [kRouteChunks, experts]: counts or sums by chunk of tokens and expert.
  Bytes counts;
  /// Offset of bf16 [tokens, router_row(experts)]: gradient of the router's logits.
  Bytes d_logits;
  /// Offset of bf16 [routes, hidden]: outputs of experts, or gradients of their inputs.
  Bytes rows;
  /// Offset of bf16 [tokens, hidden]: output of the expert that all tokens pass through, or the
  /// gradient of its input; empty without such an expert.
  Bytes shared;
  /// Offset of fp32 [tokens]: share of that expert in each token, and behind it the share's
  /// gradient; empty without a switch.
  Bytes switch_share, d_switch_share;
  Bytes d_switch;  ///< Offset of bf16 [tokens, router_row(1)]: gradient of the switch's logits.
};

/// Byte offsets of a CUDA task's scratch for FP8 operands of a block's products: numbers of one
/// byte and, behind "scales", an fp32 scale for every 128 of them. "Wide" tokens are all tokens, or
/// those that an MLP computes at one time. All empty unless the job computes in FP8.
struct CudaFp8Workspace {
  /// Offset of the largest of [tokens, width] over all inputs of products: an input in either form.
  Bytes x, x_scales;
  Bytes d, d_scales;                ///< The same over all results: the gradient of a result.
  Bytes d_across, d_across_scales;  ///< That gradient, transposed.
};

/// Byte offsets of a CUDA task's scratch for latent attention; all empty without it. "Heads" are
/// those of queries, and "narrow" is the wider of the projections that have norms behind them.
struct CudaLatentWorkspace {
  Bytes normed;    ///< Offset of [tokens, narrow]: norm of a narrow projection.
  Bytes d_normed;  ///< Offset of [tokens, narrow]: gradient of the norm, then of the projection.
  Bytes rstd;      ///< Offset of fp32 [tokens]: reciprocal RMS of each token in that norm.
  /// Offset of [tokens, heads * head_dim]: attention's output before elements that values do not
  /// have are left out; empty where heads of values are as wide as those of queries.
  Bytes output;
  /// Offsets of gradients of projections, in the place of CudaWorkspace::rotated:
  /// [tokens, heads * head_dim], [tokens, rotated], and keys and values [tokens, heads (plain +
  /// value)].
  Bytes d_query, d_shared_key, d_key_value;
};

/// Byte offsets of a CUDA task's scratch, each a multiple of 256; elements are bf16 unless said.
/// "Tokens" are those of a micro-batch, "chunk tokens" those of a loss chunk, "MLP tokens" those
/// that an MLP computes at one time. The regions of the MLP and of attention overlap: no kernel
/// needs both.
struct CudaWorkspace {
  Bytes normed;    ///< Offset of [tokens, hidden]: output of a norm, then its gradient.
  Bytes d_normed;  ///< Offset of [tokens, hidden]: gradient of a norm's output.
  Bytes rstd;      ///< Offset of fp32 [tokens]: reciprocal RMS of each token in a norm.
  Bytes partials;  ///< Offset of fp32 partial sums of columns over tokens, added in a fixed order.
  Bytes gemm;      ///< Offset of the scratch of matrix products, kGemmWorkspace bytes.
  /// Offset of [tokens, hidden]: gradient of a sublayer's output, where a norm or a factor stands
  /// between that and the residual stream, or part of the gradient of a norm's output, which is of
  /// several products; empty where neither is needed.
  Bytes branch;
  /// Offset of [MLP tokens, 2 intermediate]: gate and up where the MLP is computed in chunks;
  /// otherwise they are in the record.
  Bytes gate_up;
  /// Offset of [MLP tokens, intermediate]: silu(gate) * up, or its gradient in the backward pass.
  Bytes activation;
  Bytes d_gate_up;  ///< Offset of [MLP tokens, 2 intermediate]: gradients of gate and up.
  CudaRouteWorkspace routes;
  CudaFp8Workspace fp8;
  /// Offset of [tokens, (heads + 2 kv_heads) head_dim]: q and k after norm and RoPE, and v.
  Bytes rotated;
  CudaLatentWorkspace latent;
  Bytes d_qkv;  ///< Offset of [tokens, (heads + 2 kv_heads) head_dim]: gradients of q, k and v.
  Bytes d_attention;  ///< Offset of [tokens, heads * head_dim]: gradient of the attention output.
  /// Offset of int32 [tokens]: position at which each token's document begins; empty where
  /// attention ignores documents.
  Bytes starts;
  /// Offset of int32 [tokens]: position of the first key that each query sees, where documents lie
  /// under a window; else empty.
  Bytes first_keys;
  /// Offset of [tokens, heads * head_dim]: attention's output times its gate, then the gradient of
  /// the gate; empty without one.
  Bytes gated;
  /// Offset of the scratch of gated delta nets, laid out as `delta` says; in the place of
  /// attention's.
  Bytes delta_begin;
  CudaDeltaSpace delta;
  Bytes attention;  ///< Offset of cuDNN's scratch for attention; empty where sequences are split.
  /// Offset of [chunk tokens, vocab]: logits of a loss chunk; where sequences are split, of fp32
  /// [vocab].
  Bytes logits;
  Bytes losses;  ///< Offset of fp32 [tokens]: loss of each token.
  /// Offset of the scratch of updates by Muon, laid out as `muon` says; empty without it.
  Bytes muon_begin;
  MuonWorkspace muon;
  Bytes total;
};

/// Bytes of scratch that every matrix product of a CUDA task may use.
inline constexpr Bytes kGemmWorkspace = Bytes(std::int64_t{64} << 20);
/// Number of rows of one expert that one thread block of a grouped matrix product computes.
inline constexpr std::int64_t kExpertTile = 128;
/// Largest number of chunks of a micro-batch's tokens in which routes to experts are counted.
inline constexpr std::int64_t kRouteChunks = 512;
/// Largest number of tiles of kExpertTile rows that `routes` rows of `experts` experts can need,
/// whatever the router says.
[[nodiscard]] constexpr std::int64_t route_tiles(std::int64_t routes, std::int64_t experts) {
  return routes / kExpertTile + experts;
}

/// Elements of a token's row in the gradient of the router's logits: `experts` rounded up so that
/// rows begin at 16 bytes.
[[nodiscard]] constexpr std::int64_t router_row(std::int64_t experts) {
  return (experts + 7) / 8 * 8;
}

/// Largest number of partial sums over tokens that a kernel keeps at one time; each has as many
/// fp32 values as its result.
inline constexpr std::int64_t kPartialSums = 512;

/// The attention of one micro-batch of the job.
[[nodiscard]] AttentionShape attention_shape(const Job& job);
/// The offsets of the scratch of the job's compute tasks on a CUDA device.
[[nodiscard]] CudaWorkspace cuda_workspace(const Job& job);
/// Bytes of a block's weights in FP8 and of their transposes, with scales, which lie outside the
/// arena; 0 unless the job computes in FP8.
[[nodiscard]] Bytes fp8_weight_bytes(const Job& job);
/// Bytes from one of these tensors of `bytes` to the next.
[[nodiscard]] constexpr std::int64_t fp8_weight_stride(std::int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}
/// Bytes of the RoPE tables, which lie outside the arena: fp32 cosines and sines, [seq_len,
/// head_dim / 2] each.
[[nodiscard]] Bytes rope_table_bytes(const Job& job);

}  // namespace sluice::planner
