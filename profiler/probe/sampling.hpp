// Repeated timing: medians with their spread, of work that is repeated until a budget of time is
// used up.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "planner/machines/machine.hpp"
#include "profiler/traces/measured_run.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

using Samples = std::vector<double>;

enum class Timer {
  wall,
  /// Processor time of the calling thread. For work of one thread it equals wall time on a quiet
  /// machine, and other work on a busy one does not affect it.
  thread,
};

[[nodiscard]] inline Seconds read(Timer timer) {
  timespec now{};
  clock_gettime(timer == Timer::wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &now);
  return Seconds(static_cast<double>(now.tv_sec)) + std::chrono::nanoseconds(now.tv_nsec);
}

/// Seconds of each call of `work`, after one call that is not counted, until `budget` of wall time
/// is used up; at least three calls and at most 1000.
template <class Work>
[[nodiscard]] Samples time_repeatedly(Timer timer, Seconds budget, Work&& work) {
  work();
  Samples samples;
  const Seconds begin = read(Timer::wall);
  Seconds last = read(timer);
  while (samples.size() < 3 || (read(Timer::wall) - begin < budget && samples.size() < 1000)) {
    work();
    const Seconds now = read(timer);
    samples.push_back((now - last).count());
    last = now;
  }
  return samples;
}

/// Fact with the median of `samples` as its measured value, and their robust deviation.
[[nodiscard]] inline planner::Fact measured_fact(const Samples& samples, std::string note) {
  return {.value = median(samples),
          .deviation = robust_deviation(samples),
          .count = static_cast<std::int64_t>(samples.size()),
          .source = planner::Source::measured,
          .note = std::move(note)};
}

/// The time whose samples in seconds are `samples`.
[[nodiscard]] inline planner::MeasuredTime measured_time(const Samples& samples, std::string note) {
  return planner::in_unit<Seconds>(measured_fact(samples, std::move(note)));
}

/// The rate whose samples in bytes/s are `samples`.
[[nodiscard]] inline planner::Bandwidth measured_bandwidth(const Samples& samples,
                                                           std::string note) {
  return planner::in_unit<BytesPerSecond>(measured_fact(samples, std::move(note)));
}

/// Fact with the rate `amount` / seconds, measured by `samples`, which are seconds.
[[nodiscard]] inline planner::Fact measured_rate(double amount, Samples samples, std::string note) {
  for (double& sample : samples) sample = amount / std::max(sample, 1e-9);
  return measured_fact(samples, std::move(note));
}
[[nodiscard]] inline planner::Bandwidth measured_rate(Bytes amount, Samples samples,
                                                      std::string note) {
  return planner::in_unit<BytesPerSecond>(
      measured_rate(static_cast<double>(amount.count()), std::move(samples), std::move(note)));
}

}  // namespace sluice::profiler
