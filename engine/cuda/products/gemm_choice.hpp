// Which of a library's algorithms may compute a product, and which of the measured ones is chosen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace sluice::engine {

/// Settings of a cuBLASLt algorithm for matrix products (CUBLASLT_ALGO_CONFIG_*), in the library's
/// numbering.
struct GemmConfiguration {
  std::int32_t id = 0;
  std::uint32_t tile = 0;
  std::uint32_t stages = 0;
  std::int32_t split_k = 1;
  /// How partial sums are combined if sums are split (split_k); 0 if they are not.
  std::uint32_t reduction = 0;
  std::uint32_t swizzle = 0;
  std::uint32_t custom = 0;
  std::uint16_t inner_shape = 0;
  std::uint16_t cluster_shape = 0;
};
[[nodiscard]] std::string to_string(const GemmConfiguration& configuration);

/// Whether an algorithm may be used: it must compute every sum in one sequence, with partial sums
/// in fp32 only, so that it gives the same bits every time. Split sums are refused even if combined
/// in a fixed order (docs/design/gemm-table.md).
[[nodiscard]] bool admissible(const GemmConfiguration& configuration);

/// Algorithms for a product whose time is at most this factor times the least count as equally
/// fast.
inline constexpr double kGemmTie = 1.01;
/// Algorithms for a product whose first measured time is more than this factor times the least are
/// not measured again.
inline constexpr double kGemmHopeless = 1.10;

/// The algorithm to choose: index of the first of `times`, measured times of the library's
/// suggestions in its order, within kGemmTie of the least; so the library's preference decides
/// between equals. `times` must not be empty; infinite times stand for failed algorithms. Throws
/// EnvironmentError if all failed.
[[nodiscard]] std::size_t choose(std::span<const Seconds> times);

/// The algorithms to measure again: ascending indices of those of `times` within kGemmHopeless of
/// the least, and of the first as a reference unless it failed.
[[nodiscard]] std::vector<std::size_t> finalists(std::span<const Seconds> times);

/// Median: the middle sample, or the mean of the middle two. `samples` must not be empty.
[[nodiscard]] Seconds median(std::vector<Seconds> samples);

}  // namespace sluice::engine
