// Map from CUPTI's clock to the CPU's steady clock: a line through two instants known on both.
#pragma once

#include <functional>

#include "profiler/cupti/records.hpp"

namespace sluice::profiler::cupti {

/// Map between clocks: host = begin.host + (device - begin.device) x rate. The rate is that of the
/// two pairs where they lie at least 1 ms apart, else 1.
class ClockMap {
 public:
  ClockMap(const ClockPair& begin, const ClockPair& end);
  [[nodiscard]] std::chrono::steady_clock::time_point operator()(DeviceInstant instant) const;
  /// Host seconds per device second.
  [[nodiscard]] double rate() const { return rate_; }

 private:
  ClockPair begin_;
  double rate_ = 1;
};

/// Largest deviation of the clocks' rate from 1. Two clocks of one machine differ by parts in a
/// million; beyond this one of them was set.
inline constexpr double kMostClockSkew = 1e-3;

/// Reads the device's clock between two readings of the host's, several times, and returns the pair
/// read in the shortest time, which is off by at most half of that time.
[[nodiscard]] ClockPair clock_pair(const std::function<DeviceInstant()>& device_now);

}  // namespace sluice::profiler::cupti
