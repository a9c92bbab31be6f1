// Model of causal attention by blocks of queries; internal to planner/kernels.
#pragma once

#include <array>
#include <span>

#include "planner/kernels/kernel_shape.hpp"

namespace sluice::planner {

/// Head dimensions for which the model of attention has a constant of its own, their FLOP/s; rates
/// of others are interpolated.
inline constexpr std::array kHeadDims = {64.0, 128.0, 192.0, 256.0, 512.0};
inline constexpr std::size_t kAttentionScalars = 11;
/// Number of queries in one block of work, which one multiprocessor computes.
inline constexpr double kQueryRows = 128;

/// Number of query-key pairs that causal attention has in one head of one sequence of `length`
/// tokens; `window` is the number of keys that a query sees, itself included, or 0 for all.
[[nodiscard]] double attention_pairs(double length, double window);

/// Seconds of attention's forward pass by the model's `constants`, which are in the order of
/// kernel_constants(); `prior` is the number of keys before each sequence's first query, from
/// earlier chunks of it.
[[nodiscard]] double attention_seconds(double multiprocessors, std::span<const double> constants,
                                       const KernelShape& shape, double prior = 0);

}  // namespace sluice::planner
