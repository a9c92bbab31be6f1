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
[[nodiscard]] Fact attention_rate(const MachineProfile& profile, const AttentionWork& attention);

/// Parameters/s of the CPU optimizer: between the profile's thread counts linearly, beyond them the
/// nearest. Throws BadRequest where the profile has none.
[[nodiscard]] Fact update_rate(const MachineProfile& profile, std::int64_t threads);

}  // namespace sluice::planner
