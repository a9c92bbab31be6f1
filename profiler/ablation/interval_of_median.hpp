// Medians of few noisy numbers, with intervals, and which of the numbers stand apart.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::profiler {

struct MedianInterval {
  double median = 0;
  double low = 0, high = 0;  ///< 95 %.
};

/// Median of all numbers and its percentile-bootstrap interval (B. Efron 1979): groups are drawn
/// with replacement, then numbers within each, so that what a whole group has in common counts. One
/// group: numbers alone. A function of its arguments. No numbers: zeros.
[[nodiscard]] MedianInterval bootstrap_median(std::span<const std::vector<double>> groups,
                                              std::uint64_t seed);

/// Of each number: whether it lies more than 1.5 interquartile ranges outside the quartiles (J.
/// Tukey 1977).
[[nodiscard]] std::vector<bool> outliers(std::span<const double> numbers);

}  // namespace sluice::profiler
