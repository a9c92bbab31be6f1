// The block model of causal attention; internal to planner/kernels.
#pragma once

#include <array>
#include <span>

#include "planner/kernels/kernel_shape.hpp"

namespace sluice::planner {

/// Head dimensions whose rates are constants of the model; others are interpolated.
inline constexpr std::array kHeadDims = {64.0, 128.0, 192.0, 256.0, 512.0};
inline constexpr std::size_t kAttentionScalars = 11;
/// Rows of queries that one multiprocessor works on.
inline constexpr double kQueryRows = 128;

/// Query-key pairs of one head of one sequence.
[[nodiscard]] double attention_pairs(double length, double window);

[[nodiscard]] double attention_seconds(double multiprocessors, std::span<const double> constants,
                                       const KernelShape& shape);

}  // namespace sluice::planner
