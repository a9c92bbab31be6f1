// Where the scratch of one compute task lies on a CUDA device.
#pragma once

#include "planner/attention_shape.hpp"
#include "planner/job.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Byte offsets, each a multiple of 256. T = micro_tokens, C = tokens of a loss chunk; bf16 unless
/// said. The MLP's regions and attention's overlap: no kernel needs both.
struct CudaWorkspace {
  Bytes normed;       ///< [T, hidden] norm output, then the gradient of it.
  Bytes d_normed;     ///< [T, hidden]
  Bytes rstd;         ///< fp32 [T]
  Bytes partials;     ///< Of the fixed-order column sums.
  Bytes gemm;         ///< kGemmWorkspace
  Bytes activation;   ///< [T, intermediate] silu(gate) * up, or its gradient.
  Bytes d_gate_up;    ///< [T, 2 intermediate]
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
/// Parts of a sum over tokens that kernels may keep at one time, each of as many fp32 as its result
/// has.
inline constexpr std::int64_t kPartialSums = 512;

[[nodiscard]] AttentionShape attention_shape(const Job& job);
[[nodiscard]] CudaWorkspace cuda_workspace(const Job& job);

}  // namespace sluice::planner
