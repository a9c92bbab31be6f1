// Ratio of measured time to the profile's time for passes that were never measured, interpolated
// from passes that were.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "planner/costs/cost.hpp"
#include "planner/kernels/cholesky.hpp"

namespace sluice::planner {

/// Coordinates of a pass over transformer layers, by which RatioField tells how alike two passes
/// are.
struct PassPlace {
  Pass pass;
  /// Logarithms of hidden size, head size, sequence length, and tokens of a micro-batch, in this
  /// order.
  std::array<double, 4> log_sizes{};
  /// Share (0 to 1) of the profile's time that element-wise kernels and launches take.
  double element_share = 0;
};

/// Interpolates by ordinary kriging: a Gaussian process of unknown mean over the logarithms of
/// ratios of measured time to the profile's time. Kernels of one family err alike where shapes are
/// alike; forward passes and recomputation run the same ones; and the profile's rates of products
/// and of element-wise kernels err independently, so that the ratio follows their share. The
/// covariance was chosen by passes of five models on six H200 hosts (docs/design/prediction.md);
/// all of it is multiplied by the most likely of 1, 2, 4, 8 and 16.
class RatioField {
 public:
  /// Source of a measured time. All of a probe's times may be off together (kProbeDeviation).
  enum class By { run, probe };
  struct Measured {
    PassPlace place;
    double ratio;  ///< Measured time of the pass over its time by the profile; positive.
    By by = By::run;
  };
  /// Fits the field to `measured`, which must not be empty.
  explicit RatioField(const std::vector<Measured>& measured);

  struct Estimate {
    double ratio;
    /// Standard deviation of the ratio's error at that place, relative to the ratio.
    double deviation;
  };
  [[nodiscard]] Estimate at(const PassPlace& place) const;

 private:
  std::vector<PassPlace> places_;
  /// Factor (1, 2, 4, 8 or 16) of the covariance's standard deviations with which the measured
  /// passes are most likely.
  double scale_ = 1;
  double mean_ = 0;  ///< Estimated mean of the logarithms of ratios of measured to profiled time.
  std::optional<Cholesky> covariance_;
  /// Inverse of the measured passes' covariance matrix, times (logarithms of their ratios - mean_).
  std::vector<double> weights_;
  /// Inverse of the measured passes' covariance matrix, times a vector of ones.
  std::vector<double> ones_;
  double ones_total_ = 1;  ///< Sum of `ones_`.
};

}  // namespace sluice::planner
