// How far off a profile is for passes that were never measured, from those that were.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "planner/costs/cholesky.hpp"
#include "planner/costs/cost.hpp"

namespace sluice::planner {

/// Where a pass lies among passes over transformer layers.
struct PassPlace {
  Pass pass;
  std::array<double, 4> log_sizes{};  ///< Hidden, head, sequence length, tokens of a micro-batch.
  double element_share = 0;  ///< Of the profile's time, that of element-wise kernels and launches.
};

/// Ordinary kriging: a Gaussian process of unknown mean over the logarithms of ratios, measured
/// time over the profile's. Kernels of one family err alike where shapes are alike; forward passes
/// and recomputation run the same ones; and the profile's rates of products and of element-wise
/// kernels err each in their own way, so that the ratio follows the share of these. What it varies
/// by was chosen by passes of five models on six H200 hosts (docs/design/prediction.md), and is
/// multiplied as a whole, by at most 16, where the ratios given are likelier so.
class RatioField {
 public:
  struct Measured {
    PassPlace place;
    double ratio;  ///< Positive.
  };
  /// `measured`: not empty.
  explicit RatioField(const std::vector<Measured>& measured);

  struct Estimate {
    double ratio;
    double deviation;  ///< Relative, of what measurements at that place tend to.
  };
  [[nodiscard]] Estimate at(const PassPlace& place) const;

 private:
  std::vector<PassPlace> places_;
  double scale_ = 1;  ///< Of what ratios vary by.
  double mean_ = 0;   ///< Of logarithms.
  std::optional<Cholesky> covariance_;
  std::vector<double> weights_;  ///< Covariance^-1 (logarithms - mean).
  std::vector<double> ones_;     ///< Covariance^-1 1.
  double ones_total_ = 1;        ///< 1^T covariance^-1 1.
};

}  // namespace sluice::planner
