// Limits of a search: what it may choose, and for how long it runs.
#pragma once

#include <cstdint>
#include <stop_token>

#include "planner/effort/deadline.hpp"
#include "planner/plans/pins.hpp"

namespace sluice::planner {

/// Spaces of up to this many plans are searched exhaustively.
inline constexpr std::int64_t kSmallSpace = 1'000'000;

/// Limits of a search: what it may choose, and for how long it runs.
struct SearchSettings {
  Pins pins;  ///< Plan fields that the user fixed.
  /// Number of tasks that may be built and simulated in all; 0 for kUsualEffort.
  std::int64_t effort = 0;
  /// Number of simulations that run at a time; the result does not depend on it.
  std::int64_t threads = 2;
  /// Spaces of up to this many plans are searched exhaustively; the optimality gap is then 0.
  std::int64_t exhaustive = kSmallSpace;
  std::stop_token stop = {};  ///< Once stop is requested, the search throws Interrupted.
  /// Time at which a search that has found a fitting plan ends; its result then depends on the
  /// speed of this computer. Without it `effort` alone counts, and equal requests give equal plans.
  Deadline until = {};

  [[nodiscard]] bool is_late() const { return until.is_late(); }
};

/// Optimality gap at which a search ends.
inline constexpr double kNearEnough = 0.02;
/// Effort of a usual search: some seconds on two cores.
inline constexpr std::int64_t kUsualEffort = 3'000'000;
/// Effort of a quick search: enough to know whether anything fits, and roughly how fast.
inline constexpr std::int64_t kQuickEffort = 400'000;

}  // namespace sluice::planner
