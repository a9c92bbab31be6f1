// From CUPTI's clock to the CPU's steady clock: a line through two instants that both know.
#pragma once

#include <functional>

#include "profiler/cupti/records.hpp"

namespace sluice::profiler::cupti {

/// host = begin.host + (device - begin.device) x rate. The rate is that of the two pairs where they
/// lie far enough apart (1 ms) to show it, else 1.
class ClockMap {
 public:
  ClockMap(const ClockPair& begin, const ClockPair& end);
  [[nodiscard]] std::chrono::steady_clock::time_point operator()(DeviceInstant instant) const;
  /// Host seconds a device second.
  [[nodiscard]] double rate() const { return rate_; }

 private:
  ClockPair begin_;
  double rate_ = 1;
};

/// Two clocks of one machine differ by parts in a million; beyond this one of them was set.
inline constexpr double kMostClockSkew = 1e-3;

/// Reads the device's clock between two readings of the host's, several times, and keeps the pair
/// read in the shortest time: it is off by at most half of that.
[[nodiscard]] ClockPair clock_pair(const std::function<DeviceInstant()>& device_now);

}  // namespace sluice::profiler::cupti
