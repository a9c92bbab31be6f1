// Ratio of measured to profiled time for passes that were never measured, interpolated from those
// that were.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "planner/costs/cholesky.hpp"
#include "planner/costs/cost.hpp"

namespace sluice::planner {

/// Coordinates of a pass among passes over transformer layers.
struct PassPlace {
  Pass pass;
  /// Logarithms of hidden size, head size, sequence length, and tokens of a micro-batch.
  std::array<double, 4> log_sizes{};
  /// Share of the profile's time that element-wise kernels and launches take.
  double element_share = 0;
};

/// Ordinary kriging: a Gaussian process of unknown mean over the logarithms of ratios of measured
/// to profiled time. Kernels of one family err alike where shapes are alike; forward passes and
/// recomputation run the same ones; and the profile's rates of products and of element-wise kernels
/// err independently, so that the ratio follows their share. The covariance was chosen by passes of
/// five models on six H200 hosts (docs/design/prediction.md); all of it is multiplied by the most
/// likely of 1, 2, 4, 8 and 16.
class RatioField {
 public:
  struct Measured {
    PassPlace place;
    double ratio;  ///< Measured time over the profile's time; positive.
  };
  /// Fits the field to `measured`, which must not be empty.
  explicit RatioField(const std::vector<Measured>& measured);

  struct Estimate {
    double ratio;
    double deviation;  ///< Relative standard deviation of the ratio at that place.
  };
  [[nodiscard]] Estimate at(const PassPlace& place) const;

 private:
  std::vector<PassPlace> places_;
  double scale_ = 1;  ///< Factor of the prior standard deviations.
  double mean_ = 0;   ///< Mean of the logarithms of ratios.
  std::optional<Cholesky> covariance_;
  std::vector<double> weights_;  ///< Inverse covariance times (logarithms - mean).
  std::vector<double> ones_;     ///< Inverse covariance times a vector of ones.
  double ones_total_ = 1;        ///< Sum of `ones_`.
};

}  // namespace sluice::planner
