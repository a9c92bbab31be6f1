// Time at which work that may be cut short ends.
#pragma once

#include <algorithm>
#include <chrono>

#include "sim/units.hpp"

namespace sluice::planner {

/// A time after which work that may be cut short begins nothing new; a default deadline never
/// comes.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// The deadline `seconds` from now.
  [[nodiscard]] static Deadline in(Seconds seconds) {
    constexpr Seconds kLongest{1e9};
    Deadline deadline;
    deadline.at_ =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::min(seconds, kLongest));
    return deadline;
  }
  [[nodiscard]] bool is_set() const { return at_ != Clock::time_point::max(); }
  [[nodiscard]] bool is_late() const { return is_set() && Clock::now() >= at_; }
  [[nodiscard]] Clock::duration left() const { return at_ - Clock::now(); }
  /// The deadline at which the share `part` (0 to 1) of the time left will be over; one that never
  /// comes if this one never comes.
  [[nodiscard]] Deadline part(double part) const {
    Deadline deadline = *this;
    if (!is_set()) return deadline;
    const auto now = Clock::now();
    deadline.at_ = now + std::chrono::duration_cast<Clock::duration>((at_ - now) * part);
    return deadline;
  }

 private:
  Clock::time_point at_ = Clock::time_point::max();
};

}  // namespace sluice::planner
