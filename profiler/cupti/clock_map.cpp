#include "profiler/cupti/clock_map.hpp"

#include <cmath>

namespace sluice::profiler::cupti {

using std::chrono::steady_clock;

ClockMap::ClockMap(const ClockPair& begin, const ClockPair& end) : begin_(begin) {
  constexpr std::chrono::milliseconds kApart{1};
  const auto device = end.device - begin.device;
  if (device < kApart) return;
  rate_ = std::chrono::duration<double>(end.host - begin.host) / device;
}

steady_clock::time_point ClockMap::operator()(DeviceInstant instant) const {
  const auto since = static_cast<double>((instant - begin_.device).count());
  return begin_.host + std::chrono::nanoseconds(std::llround(since * rate_));
}

ClockPair clock_pair(const std::function<DeviceInstant()>& device_now) {
  constexpr int kReadings = 16;
  ClockPair best;
  auto shortest = steady_clock::duration::max();
  for (int i = 0; i < kReadings; ++i) {
    const auto before = steady_clock::now();
    const DeviceInstant device = device_now();
    const auto took = steady_clock::now() - before;
    if (took >= shortest) continue;
    shortest = took;
    best = {before + took / 2, device};
  }
  return best;
}

}  // namespace sluice::profiler::cupti
