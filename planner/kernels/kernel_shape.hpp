// Sizes of one kernel, and the constants that its model has.
#pragma once

#include <array>
#include <compare>
#include <span>

#include "planner/kernels/kernel_work.hpp"

namespace sluice::planner {

enum class KernelKind { gemm, attention };
const char* to_string(KernelKind kind);

/// Sizes of one kernel, in the order of `kernel_columns`. Of a product: m, n and k. Of causal
/// attention: sequences, tokens of a sequence, heads, key-value heads, head dimension, and window
/// (0 for none).
struct KernelShape {
  std::array<double, 6> size{};
  friend auto operator<=>(const KernelShape&, const KernelShape&) = default;
};
[[nodiscard]] KernelShape shape_of(const Gemm& gemm);
[[nodiscard]] KernelShape shape_of(const AttentionWork& attention);
/// Whether the number of key-value heads divides that of heads; true for products, which have none.
[[nodiscard]] bool shares_heads_evenly(KernelKind kind, const KernelShape& shape);

/// Column of a table that holds one of a shape's sizes, by its name in the header; an `optional`
/// one may be absent.
struct KernelColumn {
  const char* name;
  bool optional = false;
};
[[nodiscard]] std::span<const KernelColumn> kernel_columns(KernelKind kind);

/// Range of a model's constant. A fit works on an unbounded number x, from which the constant
/// follows.
enum class ConstantScale {
  positive,  ///< The constant is above 0: exp(x), where x is the number that a fit works on.
  /// The constant is between 0 and 1: 1 / (1 + exp(-x)), where x is the number that a fit works on.
  share,
};
struct KernelConstant {
  /// Name of the constant with its unit, such as "launch_s" or "rate_flop_per_s".
  const char* name;
  ConstantScale scale;
};
[[nodiscard]] std::span<const KernelConstant> kernel_constants(KernelKind kind);

}  // namespace sluice::planner
