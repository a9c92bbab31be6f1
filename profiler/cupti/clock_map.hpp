// Map from CUPTI's clock to the CPU's steady clock: a line through two instants that are known on
// both.
#pragma once

#include <functional>

#include "profiler/cupti/records.hpp"

namespace sluice::profiler::cupti {

/// Converts instants of the device's clock to the host's: host = begin.host + (device -
/// begin.device) x rate. The rate is that of the two pairs where they lie at least 1 ms apart, else
/// 1.
class ClockMap {
 public:
  ClockMap(const ClockPair& begin, const ClockPair& end);
  [[nodiscard]] std::chrono::steady_clock::time_point operator()(DeviceInstant instant) const;
  /// Seconds on the host's clock per second on the device's.
  [[nodiscard]] double rate() const { return rate_; }

 private:
  ClockPair begin_;
  double rate_ = 1;
};

/// Largest difference from 1 of ClockMap::rate() that is believed. Two clocks of one machine differ
/// by parts in a million; beyond this one of them was set.
inline constexpr double kMostClockSkew = 1e-3;

/// One instant on both clocks: calls `device_now` between two readings of the host's clock, several
/// times, and returns the pair that took the shortest time, which is off by at most half of that
/// time.
[[nodiscard]] ClockPair clock_pair(const std::function<DeviceInstant()>& device_now);

}  // namespace sluice::profiler::cupti
