// What a machine profile says of rates that depend on a size: products, attention, CPU updates.
#pragma once

#include <cstdint>

#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// FLOP/s of a product of `flops`: linear in log(FLOPs) between the profile's points, constant
/// beyond them; the peak where it has none.
[[nodiscard]] Fact gemm_rate(const MachineProfile& profile, Flops flops);

/// Products of experts on a CUDA device, which are kernels of our own (docs/design/moe.md), of all
/// `gemm.count`:
///   flops / (expert_share x the curve's fastest rate x fill) + bytes / hbm_bandwidth
/// fill: rows of an expert come in tiles of 128, of which the last is half full on average,
/// m / (m + 64); terms come by 32, k / (k + 16). bytes: operands and results once, gradients of
/// weights in fp32 both ways. At a profile without a curve, which stands for the peak: as gemm_rate
/// has it.
[[nodiscard]] Seconds expert_product_time(const MachineProfile& profile, const Gemm& gemm);
/// Of the library's rate, for full tiles: medians over products of Qwen3-30B-A3B and Mixtral-8x7B
/// of 256 to 4096 rows an expert on an H200, each within 12 %
/// (experiments/results/current/two-speed-memory, by experts_cuda_bench).
[[nodiscard]] double expert_share(Gemm::Dealt dealt);
inline constexpr double kExpertShareDeviation = 0.1;

/// What runs of one head take beyond their share of the attention rate: 11.5 ns for each key that
/// one reads, two runs in flight (an H200 with cuDNN 9.19, 131072 tokens, 28 heads of 128, blocks
/// of 4096 to 14592 queries: within 5 %; experiments/results/current/long-context-131k-tokens).
[[nodiscard]] Seconds narrow_run_time(const AttentionWork& attention);
inline constexpr double kNarrowRunDeviation = 0.1;

/// FLOP/s of causal attention of that shape: the profile's by keys seen and head dimension, at most
/// its ceiling.
[[nodiscard]] Fact attention_rate(const MachineProfile& profile, const AttentionWork& attention);

/// Parameters/s of the CPU optimizer: between the profile's thread counts linearly, beyond them the
/// nearest. Throws BadRequest where the profile has none.
[[nodiscard]] Fact update_rate(const MachineProfile& profile, std::int64_t threads);
/// By how much those rates differ from round to round of one probe, relative, over all numbers of
/// threads that it measured more than once; 0 where there is none.
[[nodiscard]] double update_rate_deviation(const MachineProfile& profile);

}  // namespace sluice::planner
