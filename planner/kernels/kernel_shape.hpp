// Sizes of one kernel, and the constants that its model has.
#pragma once

#include <array>
#include <compare>
#include <span>

#include "planner/costs/cost.hpp"

namespace sluice::planner {

enum class KernelKind { gemm, attention };
const char* to_string(KernelKind kind);

/// Sizes of one kernel, in the order of `kernel_columns`: m, n, k of a product; sequences, tokens
/// of a sequence, heads, key-value heads, head dimension and window (0 for none) of causal
/// attention.
struct KernelShape {
  std::array<double, 6> size{};
  friend auto operator<=>(const KernelShape&, const KernelShape&) = default;
};
[[nodiscard]] KernelShape shape_of(const Gemm& gemm);
[[nodiscard]] KernelShape shape_of(const AttentionWork& attention);
/// Whether key-value heads divide heads; true for a kind without heads.
[[nodiscard]] bool shares_heads_evenly(KernelKind kind, const KernelShape& shape);

/// Name of one of a shape's sizes in the header of a table; an `optional` one may be absent.
struct KernelColumn {
  const char* name;
  bool optional = false;
};
[[nodiscard]] std::span<const KernelColumn> kernel_columns(KernelKind kind);

/// Range of a constant. The fit works on an unbounded number x, which the scale maps.
enum class ConstantScale {
  positive,  ///< exp(x)
  share,     ///< 1 / (1 + exp(-x)), within (0, 1)
};
struct KernelConstant {
  const char* name;  ///< Name with its unit, such as "launch_s" or "rate_flop_per_s".
  ConstantScale scale;
};
[[nodiscard]] std::span<const KernelConstant> kernel_constants(KernelKind kind);

}  // namespace sluice::planner
