// Limits of a search: what it may choose, and for how long it runs.
#pragma once

#include <cstdint>
#include <stop_token>

#include "planner/effort/deadline.hpp"
#include "planner/plans/pins.hpp"

namespace sluice::planner {

/// Default number of plans up to which a space is searched exhaustively.
inline constexpr std::int64_t kSmallSpace = 1'000'000;

/// Limits of a search: what it may choose, and for how long it runs.
struct SearchSettings {
  Pins pins;  ///< Plan fields that the user fixed.
  /// Number of tasks that the search may build and simulate in all; 0 for kUsualEffort.
  std::int64_t effort = 0;
  /// Number of simulations that run at the same time; the result does not depend on it.
  std::int64_t threads = 2;
  /// Spaces of up to this many plans are searched exhaustively, which leaves an optimality gap of
  /// 0.
  std::int64_t exhaustive = kSmallSpace;
  /// Token by which a caller can stop the search, which then throws Interrupted.
  std::stop_token stop = {};
  /// Time at which the search ends if it has found a fitting plan; its result then depends on the
  /// speed of this computer. Without it `effort` alone counts, and equal requests give equal plans.
  Deadline until = {};

  [[nodiscard]] bool is_late() const { return until.is_late(); }
};

/// Optimality gap (0 to 1) at which a search ends, because its plan is near enough to the best.
inline constexpr double kNearEnough = 0.02;
/// Effort of a usual search, in tasks: some seconds on two cores.
inline constexpr std::int64_t kUsualEffort = 3'000'000;
/// Effort of a quick search, in tasks: enough to know whether anything fits, and roughly how fast.
inline constexpr std::int64_t kQuickEffort = 400'000;

}  // namespace sluice::planner
