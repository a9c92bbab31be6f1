// Medians of few noisy numbers with intervals, and outliers among them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::profiler {

struct MedianInterval {
  double median = 0;
  double low = 0, high = 0;  ///< Ends of a 95 % interval of the median.
};

/// Median of all numbers and its percentile-bootstrap interval (B. Efron 1979): groups are drawn
/// with replacement, then numbers within each, so that what a whole group has in common counts.
/// With one group, only numbers are drawn. Equal arguments give equal intervals. All zero where
/// there are no numbers.
[[nodiscard]] MedianInterval bootstrap_median(std::span<const std::vector<double>> groups,
                                              std::uint64_t seed);

/// For each number, whether it lies more than 1.5 interquartile ranges below the lower or above the
/// upper quartile of all (J. Tukey 1977).
[[nodiscard]] std::vector<bool> outliers(std::span<const double> numbers);

}  // namespace sluice::profiler
