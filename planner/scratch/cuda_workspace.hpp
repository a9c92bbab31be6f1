// Where the scratch of one compute task lies on a CUDA device.
#pragma once

#include "planner/models/job.hpp"
#include "planner/scratch/attention_shape.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Of a mixture of experts: R = T * active routes in rows grouped by expert, E experts
/// (engine/cuda/kernels/routes.hpp). Empty without experts.
struct CudaRouteWorkspace {
  Bytes expert;    ///< int32 [T, active]
  Bytes row;       ///< int32 [T, active]
  Bytes token;     ///< int32 [R]
  Bytes share;     ///< fp32 [R]
  Bytes d_share;   ///< fp32 [R]
  Bytes begin;     ///< int32 [E + 1]
  Bytes tiles;     ///< int32 [route_tiles, 2]
  Bytes counts;    ///< int32 or fp32 [kRouteChunks, E]
  Bytes d_logits;  ///< [T, router_row(E)]
  Bytes rows;      ///< [R, hidden] outputs of experts, or gradients of their inputs.
};

/// Byte offsets, each a multiple of 256. T = micro_tokens, C = tokens of a loss chunk, M = tokens
/// in an MLP at one time; bf16 unless said. The MLP's regions and attention's overlap: no kernel
/// needs both.
struct CudaWorkspace {
  Bytes normed;      ///< [T, hidden] norm output, then the gradient of it.
  Bytes d_normed;    ///< [T, hidden]
  Bytes rstd;        ///< fp32 [T]
  Bytes partials;    ///< Of the fixed-order column sums.
  Bytes gemm;        ///< kGemmWorkspace
  Bytes gate_up;     ///< [M, 2 intermediate] of an MLP in chunks; otherwise in the record.
  Bytes activation;  ///< [M, intermediate] silu(gate) * up, or its gradient.
  Bytes d_gate_up;   ///< [M, 2 intermediate]
  CudaRouteWorkspace routes;
  Bytes rotated;      ///< [T, (heads + 2 kv_heads) head_dim] q, k after norm and RoPE, and v.
  Bytes d_qkv;        ///< the same, gradients
  Bytes d_attention;  ///< [T, heads * head_dim]
  Bytes starts;       ///< int32 [T]: where each token's document begins; none without documents.
  Bytes attention;    ///< cuDNN's; none for parts of a sequence.
  Bytes logits;       ///< [C, vocab]; fp32 [vocab] for parts of a sequence.
  Bytes losses;       ///< fp32 [T]
  Bytes total;
};

/// Scratch that every matrix product of one task may use.
inline constexpr Bytes kGemmWorkspace = Bytes(std::int64_t{64} << 20);
/// Rows of an expert that one block of threads multiplies.
inline constexpr std::int64_t kExpertTile = 128;
/// Parts in which routes are counted, at most.
inline constexpr std::int64_t kRouteChunks = 512;
/// Tiles that `routes` rows of `experts` may need, whatever the router says.
[[nodiscard]] constexpr std::int64_t route_tiles(std::int64_t routes, std::int64_t experts) {
  return routes / kExpertTile + experts;
}

/// Elements of a token's row in the gradient of a router's logits: what 16-byte accesses need.
[[nodiscard]] constexpr std::int64_t router_row(std::int64_t experts) {
  return (experts + 7) / 8 * 8;
}

/// Parts of a sum over tokens that kernels may keep at one time, each of as many fp32 as its result
/// has.
inline constexpr std::int64_t kPartialSums = 512;

[[nodiscard]] AttentionShape attention_shape(const Job& job);
[[nodiscard]] CudaWorkspace cuda_workspace(const Job& job);
/// RoPE tables, which lie outside the arena: fp32 cosines and sines, [seq_len, head_dim / 2] each.
[[nodiscard]] Bytes rope_table_bytes(const Job& job);

}  // namespace sluice::planner
