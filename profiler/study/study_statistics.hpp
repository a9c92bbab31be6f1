// Statistics of predictions over many runs.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "sim/units.hpp"

namespace sluice::profiler {

/// One run that was predicted before it ran.
struct StudyPoint {
  std::string job;                        ///< Plans of one job are compared with each other.
  Seconds predicted{0}, low{0}, high{0};  ///< Step time, and its 90 % interval.
  Seconds measured{0};                    ///< Median of the measured step times.

  /// Relative error; positive where the predicted step was too long.
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

/// Pairs of one job's plans whose measured steps differ by more than some share.
struct PairOrder {
  std::size_t pairs = 0;
  std::size_t right = 0;  ///< Number of pairs that were predicted in the measured order.
};

struct StudyStatistics {
  std::size_t points = 0;
  double mean_error = 0;       ///< Mean of the absolute errors.
  double percentile_95 = 0;    ///< Smallest absolute error that 95 % do not exceed.
  double worst_error = 0;      ///< Signed error of the largest size.
  double bias = 0;             ///< Mean of the signed errors.
  double inside_interval = 0;  ///< Share of points inside their interval.
  PairOrder over_3, over_8;    ///< Pairs that differ by over 3 %, and by over 8 %.
};

/// Statistics of `points`; zeros where there are none. Measured times are positive.
[[nodiscard]] StudyStatistics study_statistics(std::span<const StudyPoint> points);

}  // namespace sluice::profiler
