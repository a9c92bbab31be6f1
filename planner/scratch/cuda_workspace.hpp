// Byte offsets of the scratch of one compute task on a CUDA device.
#pragma once

#include "planner/models/job.hpp"
#include "planner/scratch/attention_shape.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Byte offsets of the scratch of a mixture of experts (engine/cuda/kernels/routes.hpp): T tokens,
/// R = T * active routes in rows grouped by expert, E experts. All empty without experts.
struct CudaRouteWorkspace {
  Bytes expert;    ///< int32 [T, active]: the experts of each token.
  Bytes row;       ///< int32 [T, active]: the row of each route.
  Bytes token;     ///< int32 [R]: the token of each row.
  Bytes share;     ///< fp32 [R]: the weight of each row in its token's sum.
  Bytes d_share;   ///< fp32 [R]: gradient of `share`.
  Bytes begin;     ///< int32 [E + 1]: first row of each expert.
  Bytes tiles;     ///< int32 [route_tiles, 2]: the tiles of rows that products work on.
  Bytes counts;    ///< int32 or fp32 [kRouteChunks, E]: counts or sums by chunk of tokens.
  Bytes d_logits;  ///< bf16 [T, router_row(E)]: gradient of the router's logits.
  Bytes rows;      ///< bf16 [R, hidden]: outputs of experts, or gradients of their inputs.
};

/// Byte offsets of a CUDA task's scratch, each a multiple of 256. T = micro_tokens, C = tokens of a
/// loss chunk, M = tokens in an MLP at one time; elements are bf16 unless said. The regions of the
/// MLP and of attention overlap: no kernel needs both.
struct CudaWorkspace {
  Bytes normed;    ///< [T, hidden]: norm output, then its gradient.
  Bytes d_normed;  ///< [T, hidden]: gradient of the norm output.
  Bytes rstd;      ///< fp32 [T]: reciprocal RMS of each token.
  Bytes partials;  ///< fp32: partial sums of column sums over tokens, in a fixed order.
  Bytes gemm;      ///< Scratch of matrix products, kGemmWorkspace bytes.
  /// [M, 2 intermediate]: gate and up of an MLP in chunks; other MLPs have them in the record.
  Bytes gate_up;
  Bytes activation;  ///< [M, intermediate]: silu(gate) * up, or its gradient.
  Bytes d_gate_up;   ///< [M, 2 intermediate]: gradients of gate and up.
  CudaRouteWorkspace routes;
  Bytes rotated;      ///< [T, (heads + 2 kv_heads) head_dim]: q and k after norm and RoPE, and v.
  Bytes d_qkv;        ///< [T, (heads + 2 kv_heads) head_dim]: gradients of q, k and v.
  Bytes d_attention;  ///< [T, heads * head_dim]: gradient of the attention output.
  /// int32 [T]: where each token's document begins; empty where attention ignores documents.
  Bytes starts;
  Bytes attention;  ///< Scratch of cuDNN's attention; empty where sequences are split.
  Bytes logits;     ///< [C, vocab]: logits of a loss chunk; fp32 [vocab] where sequences are split.
  Bytes losses;     ///< fp32 [T]: loss of each token.
  Bytes total;
};

/// Scratch that every matrix product of one task may use.
inline constexpr Bytes kGemmWorkspace = Bytes(std::int64_t{64} << 20);
/// Rows of an expert that one block of threads multiplies.
inline constexpr std::int64_t kExpertTile = 128;
/// Largest number of chunks in which routes are counted.
inline constexpr std::int64_t kRouteChunks = 512;
/// Largest number of tiles that `routes` rows of `experts` experts can need, whatever the router
/// says.
[[nodiscard]] constexpr std::int64_t route_tiles(std::int64_t routes, std::int64_t experts) {
  return routes / kExpertTile + experts;
}

/// Elements of a token's row in the gradient of the router's logits: `experts` rounded up so that
/// rows begin at 16 bytes.
[[nodiscard]] constexpr std::int64_t router_row(std::int64_t experts) {
  return (experts + 7) / 8 * 8;
}

/// Largest number of partial sums over tokens that kernels keep at one time, each as many fp32
/// values as its result.
inline constexpr std::int64_t kPartialSums = 512;

[[nodiscard]] AttentionShape attention_shape(const Job& job);
[[nodiscard]] CudaWorkspace cuda_workspace(const Job& job);
/// Bytes of the RoPE tables, which lie outside the arena: fp32 cosines and sines, [seq_len,
/// head_dim / 2] each.
[[nodiscard]] Bytes rope_table_bytes(const Job& job);

}  // namespace sluice::planner
