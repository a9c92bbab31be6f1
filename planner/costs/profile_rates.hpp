// Rates of a machine profile that depend on a size: matrix products, attention, CPU updates.
#pragma once

#include <cstdint>

#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// Rate of a matrix product of `flops` FLOPs: linear in log(FLOPs) between the profile's points,
/// constant beyond them; the peak rate where the profile has no points.
[[nodiscard]] FlopRate gemm_rate(const MachineProfile& profile, Flops flops);

/// Seconds of all `gemm.count` products of experts on a CUDA device, which are kernels of our own
/// (docs/design/moe.md):
///
///   flops / (expert_share x the curve's fastest rate x fill) + bytes / hbm_bandwidth
///
/// fill: rows of an expert come in tiles of 128, of which the last is half full on average, m / (m
/// + 64); terms come in tiles of 32, k / (k + 16). bytes: operands and results once, gradients of
/// weights in fp32 in both directions. A profile without a curve gives flops / peak.
[[nodiscard]] Seconds expert_product_time(const MachineProfile& profile, const Gemm& gemm);

/// The rate that expert_product_time() scales: the fastest of the curve, or the peak where there is
/// no curve. Times rest on a fit only where it was measured, and err by its deviation too.
[[nodiscard]] const FlopRate& scaled_for_experts(const MachineProfile& profile);
/// Rate of Sluice's own kernels for products of experts over the matrix library's rate, for full
/// tiles. Source: medians over products of gpt-oss-20b and Qwen3-30B-A3B with 1024 and 512 rows an
/// expert on an H200, each within 15 % (experiments/results/current/experts-products, by
/// experts_cuda_bench).
[[nodiscard]] double expert_share(Gemm::Dealt dealt);
[[nodiscard]] double expert_share_deviation(Gemm::Dealt dealt);

/// Seconds of products of a gated delta net's chunks on a CUDA device: at a share of the rate that
/// expert_product_time() scales. Their fp32 operands in memory are counted separately. Source: the
/// rule forward and backward over 8,192 tokens with 32 heads of 128 on an H200, 39 and 36 TFLOP/s
/// (experiments/results/current/delta-nets-on-a-gpu).
[[nodiscard]] Seconds chunk_product_time(const MachineProfile& profile, const Gemm& gemm);
inline constexpr double kChunkProductDeviation = 0.15;

/// Seconds that attention's backward pass takes beyond its share of the attention rate where it
/// computes runs of queries of one head at a time (AttentionWork::narrow_keys): 11.5 ns for each
/// key that a run reads, with two runs in flight. Source: an H200 with cuDNN 9.19, 131072 tokens,
/// 28 heads of 128, blocks of 4096 to 14592 queries, within 5 %
/// (experiments/results/current/long-context-131k-tokens).
[[nodiscard]] Seconds narrow_run_time(const AttentionWork& attention);
inline constexpr double kNarrowRunDeviation = 0.1;

/// Rate of causal attention of that shape: the profile's rate, interpolated by keys seen and head
/// dimension, at most its ceiling.
[[nodiscard]] FlopRate attention_rate(const MachineProfile& profile,
                                      const AttentionWork& attention);

/// Parameters/s of the CPU optimizer: linear between the profile's thread counts, beyond them the
/// nearest. Throws BadRequest where the profile has no rate.
[[nodiscard]] Fact update_rate(const MachineProfile& profile, std::int64_t threads);
/// Standard deviation of CPU update rates between the repetitions of one probe over their mean, for
/// all thread counts that it measured more than once together; 0 where there is none.
[[nodiscard]] double update_rate_deviation(const MachineProfile& profile);

}  // namespace sluice::planner
