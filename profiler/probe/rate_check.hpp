// How far a contention model is from measured rates, one by one and by kind.
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

/// One measured rate and what the model says of it.
struct RateCheck {
  std::int64_t threads;
  Copies copies;
  ContendedRate rate;
  double measured, predicted;
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

/// Targets on points that were not fitted, for each of the three rates.
inline constexpr double kContentionMean = 0.02;
inline constexpr double kContentionWorst = 0.05;

/// Errors of one rate.
struct RateResiduals {
  ContendedRate rate;
  std::size_t count = 0;
  double mean = 0;                 ///< Of the absolute relative errors.
  std::optional<RateCheck> worst;  ///< None where there is no point.
  [[nodiscard]] bool holds() const;
};
[[nodiscard]] std::vector<RateResiduals> residuals(const std::vector<RateCheck>& checks);

/// The rates that `points` have against those of `profile`'s model.
[[nodiscard]] std::vector<RateCheck> checks_of(const planner::MachineProfile& profile,
                                               const ContentionGrid& points);

}  // namespace sluice::profiler
