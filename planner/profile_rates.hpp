// What a machine profile says of rates that depend on a size: products, attention, CPU updates.
#pragma once

#include <cstdint>

#include "planner/cost.hpp"
#include "planner/machine.hpp"

namespace sluice::planner {

/// FLOP/s of a product of `flops`: linear in log(FLOPs) between the profile's points, constant
/// beyond them; the peak where it has none.
[[nodiscard]] Fact gemm_rate(const MachineProfile& profile, Flops flops);

/// FLOP/s of causal attention of that shape: the profile's by keys seen and head dimension, at most
/// its ceiling.
/// What runs of one head take beyond their share of the attention rate: 11.5 ns for each key that
/// one reads, two runs in flight (an H200 with cuDNN 9.19, 131072 tokens, 28 heads of 128, blocks
/// of 4096 to 14592 queries: within 5 %; experiments/results/2026-11-22-long-context).
[[nodiscard]] Seconds narrow_run_time(const AttentionWork& attention);
inline constexpr double kNarrowRunDeviation = 0.1;

[[nodiscard]] Fact attention_rate(const MachineProfile& profile, const AttentionWork& attention);

/// Parameters/s of the CPU optimizer: between the profile's thread counts linearly, beyond them the
/// nearest. Throws BadRequest where the profile has none.
[[nodiscard]] Fact update_rate(const MachineProfile& profile, std::int64_t threads);

}  // namespace sluice::planner
