// Until when work that may be cut short goes on.
#pragma once

#include <chrono>
#include <optional>

#include "sim/units.hpp"

namespace sluice::planner {

/// By default it is never over.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] static Deadline in(Seconds seconds) {
    Deadline deadline;
    deadline.at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds.count()));
    return deadline;
  }
  [[nodiscard]] bool is_over() const { return Clock::now() >= at_; }
  /// As SearchSettings::until.
  [[nodiscard]] std::optional<Clock::time_point> time() const {
    return at_ == Clock::time_point::max() ? std::nullopt : std::optional(at_);
  }
  /// When `part` of the time that is left will be over.
  [[nodiscard]] Deadline part(double part) const {
    Deadline deadline = *this;
    if (at_ == Clock::time_point::max()) return deadline;
    const auto now = Clock::now();
    deadline.at_ = now + std::chrono::duration_cast<Clock::duration>((at_ - now) * part);
    return deadline;
  }

 private:
  Clock::time_point at_ = Clock::time_point::max();
};

}  // namespace sluice::planner
