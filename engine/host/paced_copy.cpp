#include "engine/host/paced_copy.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Size of a slice: short enough that neither direction occupies a core for long, long enough that
/// waking up (some 10 us) does not matter.
constexpr std::size_t kSlice = std::size_t{256} << 10;

/// Sleeps until `instant` as std::this_thread::sleep_until does, by clock_nanosleep with an
/// absolute time, so that a signal does not lengthen the sleep.
void sleep_until(SteadyClock::time_point instant) {
  const auto since =
      std::chrono::duration_cast<std::chrono::nanoseconds>(instant.time_since_epoch()).count();
  timespec until{};
  until.tv_sec = since / 1'000'000'000;
  until.tv_nsec = since % 1'000'000'000;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

}  // namespace

void paced_copy(std::span<const std::byte> source, std::span<std::byte> destination,
                const LinkPace& pace) {
  check(source.size() == destination.size(), "a copy's two ends have one size");
  const SteadyClock::time_point start = SteadyClock::now();
  std::size_t copied = 0;
  do {
    const std::size_t slice = std::min(kSlice, source.size() - copied);
    if (slice > 0) std::memcpy(destination.data() + copied, source.data() + copied, slice);
    copied += slice;
    const Seconds due = pace.latency + Bytes(static_cast<std::int64_t>(copied)) / pace.bandwidth;
    sleep_until(start + std::chrono::duration_cast<SteadyClock::duration>(due));
  } while (copied < source.size());
}

}  // namespace sluice::engine
