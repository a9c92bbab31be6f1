// Which of a library's algorithms may compute a product, and which of the measured ones does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace sluice::engine {

/// What cuBLASLt tells of an algorithm (CUBLASLT_ALGO_CONFIG_*), in its own numbering.
struct GemmConfiguration {
  std::int32_t id = 0;
  std::uint32_t tile = 0;
  std::uint32_t stages = 0;
  std::int32_t split_k = 1;
  std::uint32_t reduction = 0;  ///< Scheme by which split sums meet; 0: none are split.
  std::uint32_t swizzle = 0;
  std::uint32_t custom = 0;
  std::uint16_t inner_shape = 0;
  std::uint16_t cluster_shape = 0;
};
[[nodiscard]] std::string to_string(const GemmConfiguration& configuration);

/// Every sum is made in one sequence: the same bits every time, partial sums in fp32 only. Splits
/// of the sum are refused, also those reduced in fixed order: docs/design/gemm-table.md says why.
[[nodiscard]] bool admissible(const GemmConfiguration& configuration);

/// Times this near the best count as equal to it.
inline constexpr double kGemmTie = 1.01;
/// Times after one look this far from the best are not looked at again.
inline constexpr double kGemmHopeless = 1.10;

/// Index of the first of `times` within kGemmTie of the least: of equals the library's favourite.
/// `times` is not empty; an infinite time is an algorithm that failed. Throws EnvironmentError
/// where all are.
[[nodiscard]] std::size_t choose(std::span<const Seconds> times);

/// Ascending indices of the `times` worth measuring again: within kGemmHopeless of the least, and
/// the first, to compare with, unless it failed.
[[nodiscard]] std::vector<std::size_t> finalists(std::span<const Seconds> times);

/// Middle value; the mean of the middle two. `samples` is not empty.
[[nodiscard]] Seconds median(std::vector<Seconds> samples);

}  // namespace sluice::engine
