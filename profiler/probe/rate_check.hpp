// Errors of a contention model against measured rates, one by one and by kind of rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/machines/machine.hpp"
#include "profiler/probe/contention_grid.hpp"

namespace sluice::profiler {

enum class ContendedRate { update, h2d, d2h };
const char* to_string(ContendedRate rate);

/// One measured rate and the model's prediction of it, in parameters/s or bytes/s.
struct RateCheck {
  std::int64_t threads;
  Copies copies;
  ContendedRate rate;
  double measured, predicted;
  /// Standard deviation of the measured mean over that mean; 0 where one repetition is all there
  /// is.
  double uncertainty = 0;
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

/// Largest mean and largest single error, relative to the measurement, that the contention model is
/// to have on points it was not fitted to, for each kind of rate.
inline constexpr double kContentionMean = 0.02;
inline constexpr double kContentionWorst = 0.05;

/// Errors of one kind of rate over many points.
struct RateResiduals {
  ContendedRate rate;
  std::size_t count = 0;
  double mean = 0;  ///< Mean of the absolute errors, relative to the measured rates.
  /// The point with the largest error; none where there is no point.
  std::optional<RateCheck> worst;
  [[nodiscard]] bool holds() const;
};
[[nodiscard]] std::vector<RateResiduals> residuals(const std::vector<RateCheck>& checks);

/// Every rate of `points` beside the prediction by the contention model with the numbers of
/// `profile`.
[[nodiscard]] std::vector<RateCheck> checks_of(const planner::MachineProfile& profile,
                                               const ContentionGrid& points);

}  // namespace sluice::profiler
