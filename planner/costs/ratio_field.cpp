#include "planner/costs/ratio_field.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "planner/costs/probed_passes.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Standard deviations of logarithms: between measurements of one pass, between passes at one
/// place, between places far apart, and per share of element-wise kernels.
constexpr double kOfRuns = 0.02, kOfPass = 0.02, kOfPlace = 0.03, kOfElementShare = 0.3;
/// Lengths of correlation: sizes that differ by a factor e^length are far apart
/// (PassPlace::log_sizes).
constexpr std::array kLengths{0.5, 1.0, 2.0, 2.0};
static_assert(kLengths.size() == std::tuple_size_v<decltype(PassPlace::log_sizes)>);
/// Correlation of passes that run the same forward kernels.
constexpr double kForwardCorrelation = 0.9;

bool runs_forward(Pass pass) {
  return pass == Pass::block_forward || pass == Pass::block_recompute_input ||
         pass == Pass::block_recompute_selective;
}

/// Covariance of two passes at scale 1, without the deviation between measurements.
double covariance(const PassPlace& a, const PassPlace& b) {
  const bool same = a.pass == b.pass;
  if (!same && !(runs_forward(a.pass) && runs_forward(b.pass))) return 0;
  double squared = 0;
  for (std::size_t i = 0; i < kLengths.size(); ++i) {
    squared += std::pow((a.log_sizes[i] - b.log_sizes[i]) / kLengths[i], 2);
  }
  const double of_place = kOfPlace * kOfPlace * std::exp(-squared / 2) +
                          kOfElementShare * kOfElementShare * a.element_share * b.element_share;
  return same ? kOfPass * kOfPass + of_place : kForwardCorrelation * of_place;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

RatioField::RatioField(const std::vector<Measured>& measured) {
  check(!measured.empty(), "a field of ratios has a measured one");
  const std::size_t n = measured.size();
  std::vector<double> logs;
  for (const Measured& each : measured) {
    places_.push_back(each.place);
    logs.push_back(std::log(each.ratio));
  }
  double likeliest = -std::numeric_limits<double>::infinity();
  for (const double scale : {1.0, 2.0, 4.0, 8.0, 16.0}) {
    std::vector<double> matrix(n * n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        matrix[i * n + j] = scale * scale * covariance(places_[i], places_[j]);
        if (measured[i].by == By::probe && measured[j].by == By::probe) {
          matrix[i * n + j] += kProbeDeviation * kProbeDeviation;
        }
      }
      matrix[i * n + i] += kOfRuns * kOfRuns;
    }
    auto factor = Cholesky::of(std::move(matrix), n);
    check(factor.has_value(), "a covariance is positive definite");
    std::vector<double> ones = factor->solve(std::vector<double>(n, 1));
    const double total = sum(ones);
    const double mean = dot(ones, logs) / total;
    std::vector<double> apart = logs;
    for (double& each : apart) each -= mean;
    std::vector<double> weights = factor->solve(apart);
    // Restricted likelihood: the mean is not known.
    const double likelihood = -dot(apart, weights) - factor->log_determinant() - std::log(total);
    if (likelihood <= likeliest) continue;
    likeliest = likelihood;
    scale_ = scale;
    mean_ = mean;
    covariance_ = std::move(factor);
    weights_ = std::move(weights);
    ones_ = std::move(ones);
    ones_total_ = total;
  }
}

RatioField::Estimate RatioField::at(const PassPlace& place) const {
  std::vector<double> shared;
  shared.reserve(places_.size());
  for (const PassPlace& each : places_) {
    shared.push_back(scale_ * scale_ * covariance(place, each));
  }
  const double variance = scale_ * scale_ * covariance(place, place) -
                          dot(shared, covariance_->solve(shared)) +
                          std::pow(1 - dot(shared, ones_), 2) / ones_total_;
  return {std::exp(mean_ + dot(shared, weights_)), std::sqrt(std::max(variance, 0.0))};
}

}  // namespace sluice::planner
