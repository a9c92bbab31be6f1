// What block-scaled FP8 changes of a pass's work: faster products, and the quantizing of operands.
#pragma once

#include <string_view>

#include "planner/costs/cost.hpp"

namespace sluice::planner {

/// Time of a bf16 product on a CUDA device over that of one with FP8 operands: a rule for profiles
/// that state no `fp8_speedup`. Source: sums over the layers of a 7 B model on an H200,
/// cuBLASLt 13.1, in whole steps at the power limit (experiments/results/current/step-kernels);
/// alone and for a moment they are 1.54 to 1.85 times as fast
/// (experiments/results/current/fp8-products).
inline constexpr double kFp8Speedup = 1.49;
/// The same of weight gradients, which alone are 1.38 to 1.46 times as fast.
inline constexpr double kFp8GradientSpeedup = 1.29;
inline constexpr double kFp8SpeedupDeviation = 0.05;
/// The same where each operand has one scale, for all three products: whole steps on an H200 took
/// 0.97 to 1.04 times what was predicted with it (experiments/results/current/tensorwise-rows). On
/// other GPUs nobody has measured it.
inline constexpr double kTensorwiseSpeedup = 1.6;
inline constexpr double kTensorwiseSpeedupDeviation = 0.15;

/// The speed of the FP8 part of `gemm` on a machine over that of bf16: as the machine's profile
/// says of the kind of operands that its GPU is measured with (block-scaled where it has these),
/// else by the rule.
[[nodiscard]] Fact fp8_speedup(const MachineProfile& machine, const Gemm& gemm);
/// Time of `gemm` over that of the same product in bf16 on a CUDA device: 1 - fp8 + fp8 / speedup.
[[nodiscard]] constexpr double fp8_time_factor(const Gemm& gemm, double speedup) {
  return 1 - gemm.fp8 + gemm.fp8 / speedup;
}

/// Whether GPUs of an architecture, such as "sm_90", have the products of jobs that compute in
/// `type`: block-scaled FP8, or FP8 of operands with one scale. True for what is not FP8.
[[nodiscard]] bool has_products(ComputeType type, std::string_view architecture);
/// Whether a GPU has block-scaled FP8 products.
[[nodiscard]] bool has_fp8_products(const MachineProfile& machine);

/// Turns the work of a block's pass, counted for bf16, into that of a job with compute fp8: the
/// mean over all blocks, of which the first and the last stay in bf16. Adds the bytes of quantizing
/// (x: an operand [tokens, in], d: a result's gradient [tokens, out], W: a weight):
///
///   forward, recompute   3 x + 3 W                 (read 2, written 1; the down product's x is
///                                                   made from gate and up: - 1 x)
///   backward             3 x + 4 d + 3 W           (d in two forms, W transposed; without a bias
///                                                   the d of gate and up and the down product's x
///                                                   never exist in bf16: - 4 d - 4 x of them)
///
/// where W counts once for the passes of all of `job`'s micro-batches over a block. Operands with
/// one scale are read once more for it, 2 bytes an element, and gate and up twice for the down
/// product's x and for an activation's backward pass.
void add_fp8(Work& work, const Job& job, Pass pass);

/// Throws BadRequest where the job computes in FP8 and the machine's GPU has no such products:
/// block-scaled ones on sm_90 alone, tensorwise ones from sm_89 on. The host backend computes
/// block-scaled ones on every processor, tensorwise ones on none.
void require_fp8_products(const Job& job, const MachineProfile& machine);

}  // namespace sluice::planner
