// Measurement of block-scaled FP8 products of a transformer's layers beside the same in bf16.
#pragma once

#include "engine/cuda/products/gemm_table.hpp"
#include "planner/models/job.hpp"
#include "profiler/probe/cuda/kernel_timer.hpp"

namespace sluice::profiler {

/// Time of a job's bf16 block products over that of the same products with FP8 operands.
struct Fp8Speedups {
  planner::Fact products;   ///< Ratio of forward products and input gradients together.
  planner::Fact gradients;  ///< Ratio of weight gradients.
  /// FLOP/s of either in FP8 and in bf16, by which the ratios are to be understood.
  FlopsPerSecond products_fp8, products_bf16, gradients_fp8, gradients_bf16;
};

/// The job whose products a probe measures: a 7 B model's layers, which have no biases, so that
/// each product exists in both types.
[[nodiscard]] planner::Job fp8_probe_job();

/// Measures every product that `job`, with compute fp8, computes in FP8, for `budget` in either
/// type, once the GPU's clocks are those of a long row of FP8 products (at most `settle`).
/// Operands are random and quantized before. `table` has the job's products of both types. Throws
/// EnvironmentError where memory fails.
[[nodiscard]] Fp8Speedups measure_fp8(const planner::Job& job, engine::GemmTable table,
                                      Seconds budget, Seconds settle);

}  // namespace sluice::profiler
