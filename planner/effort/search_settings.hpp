// What a search may do, and for how long.
#pragma once

#include <cstdint>
#include <stop_token>

#include "planner/effort/deadline.hpp"
#include "planner/plans/pins.hpp"

namespace sluice::planner {

/// Spaces of up to this many plans are gone through as a whole.
inline constexpr std::int64_t kSmallSpace = 1'000'000;

/// What a search may do and for how long.
struct SearchSettings {
  Pins pins;                 ///< Plan fields the user fixed.
  std::int64_t effort = 0;   ///< Tasks that may be built and simulated in all; 0: kUsualEffort.
  std::int64_t threads = 2;  ///< That simulate at a time; the result does not depend on it.
  /// Spaces of up to so many plans are gone through as a whole: the gap is then 0.
  std::int64_t exhaustive = kSmallSpace;
  std::stop_token stop = {};  ///< Once asked to stop, the search throws Interrupted.
  /// When a search that found a plan that fits is to end: what it finds then depends on the machine
  /// it runs on. Without it `effort` alone counts, and the same request gives the same plan.
  Deadline until = {};

  [[nodiscard]] bool is_late() const { return until.is_late(); }
};

/// The gap that ends a search.
inline constexpr double kNearEnough = 0.02;
/// Some seconds on two cores.
inline constexpr std::int64_t kUsualEffort = 3'000'000;
/// Enough to know whether anything fits, and about how fast.
inline constexpr std::int64_t kQuickEffort = 400'000;

}  // namespace sluice::planner
