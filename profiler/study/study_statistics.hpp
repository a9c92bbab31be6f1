// How well predictions held, over many runs.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "sim/units.hpp"

namespace sluice::profiler {

/// One run that was predicted before it ran.
struct StudyPoint {
  std::string job;                        ///< Plans of one job are compared with each other.
  Seconds predicted{0}, low{0}, high{0};  ///< A step, and its 90 % interval.
  Seconds measured{0};                    ///< Median.

  /// Positive where the prediction was too slow.
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

/// Pairs of one job's plans whose measured steps differ by more than some share.
struct PairOrder {
  std::size_t pairs = 0;
  std::size_t right = 0;  ///< Of them, those that were predicted in the measured order.
};

struct StudyStatistics {
  std::size_t points = 0;
  double mean_error = 0;       ///< Of the absolute errors.
  double percentile_95 = 0;    ///< Of the absolute errors, the smallest that 95 % do not exceed.
  double worst_error = 0;      ///< Signed, of the largest size.
  double bias = 0;             ///< Mean of the signed errors.
  double inside_interval = 0;  ///< Share.
  PairOrder over_3, over_8;    ///< Differing by over 3 %, over 8 %.
};

/// Zeros where there are no points. Measured times are positive.
[[nodiscard]] StudyStatistics study_statistics(std::span<const StudyPoint> points);

}  // namespace sluice::profiler
