// Times of products and attention by their shape, on machines with a kernel model.
#pragma once

#include <optional>

#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// Time of a kernel in a step, by the machine's kernel model.
struct TabulatedTime {
  Seconds time{0};
  double relative_deviation = 0;
  /// `fitted` where the device's own kernels were tabulated, `datasheet` where the kernel model was
  /// scaled from another device's.
  Evidence evidence = Evidence::fitted;
};

/// Time of all products of `gemm`. None where the profile has no model of products, is of the host
/// backend, or the products are of experts, which are kernels of our own.
///
/// In a step products take kInStep times what tables of single kernels say, give or take
/// kInStepDeviation: mean and scatter of 153 passes of recorded steps on an H100 and an H200
/// against their tables (docs/design/kernel-model.md). Attention takes what the table says.
[[nodiscard]] std::optional<TabulatedTime> tabulated_time(const MachineProfile& profile,
                                                          const Gemm& gemm);
inline constexpr double kInStep = 1.03, kInStepDeviation = 0.05;

/// Time of one pass of attention by the profile's kernel model. None where the profile has no model
/// of attention or is of the host backend.
[[nodiscard]] std::optional<TabulatedTime> tabulated_time(const MachineProfile& profile,
                                                          const AttentionWork& attention);

}  // namespace sluice::planner
