// Statistics of predictions over many runs.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "planner/predictions/ratio_interval.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// Predicted and measured step of one run that was predicted before it ran.
struct StudyPoint {
  std::string job;  ///< Hash of the run's job, within which plans are compared.
  Seconds predicted{0}, low{0}, high{0};  ///< Predicted step time, and its 90 % interval.
  Seconds measured{0};                    ///< Median of the measured step times.
  planner::StepErrors errors = {};        ///< Causes of the predicted step's error.

  /// Predicted step over measured step, less one; positive where the predicted step was too long.
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

/// Counts of pairs of one job's plans whose measured steps differ by more than some share.
struct PairOrder {
  std::size_t pairs = 0;
  /// Number of those pairs whose plans were predicted in the measured order.
  std::size_t right = 0;
};

struct StudyStatistics {
  std::size_t points = 0;
  double mean_error = 0;     ///< Mean of the errors' sizes (StudyPoint::error without sign).
  double percentile_95 = 0;  ///< Smallest size of an error that 95 % of the errors do not exceed.
  double worst_error = 0;    ///< Error of the largest size, with its sign.
  double bias = 0;           ///< Mean of the errors, with their signs.
  /// Share (0 to 1) of points whose measured step lies in the predicted interval.
  double inside_interval = 0;
  /// Pairs whose measured steps differ by more than 3 %, and by more than 8 %.
  PairOrder over_3, over_8;
  /// Pairs of plans of one job, and how many of them have the ratio of their measured steps inside
  /// the predicted ratio's interval (planner::ratio_interval).
  PairOrder in_ratio;
};

/// Statistics of `points`, whose measured times must be positive; all zero where there are none.
[[nodiscard]] StudyStatistics study_statistics(std::span<const StudyPoint> points);

}  // namespace sluice::profiler
