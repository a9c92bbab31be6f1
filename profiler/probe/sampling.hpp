// Repeated timing: medians with their spread, of work that is done until a time is used up.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "planner/machine.hpp"
#include "profiler/measured_run.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

using Samples = std::vector<double>;

/// Seconds of each call of `work`, after one that is not counted, until `budget` is used up; at
/// least three, at most 1000.
template <class Work>
[[nodiscard]] Samples time_repeatedly(Seconds budget, Work&& work) {
  using SteadyClock = std::chrono::steady_clock;
  work();
  Samples samples;
  const auto begin = SteadyClock::now();
  auto last = begin;
  while (samples.size() < 3 || (last - begin < budget && samples.size() < 1000)) {
    work();
    const auto now = SteadyClock::now();
    samples.push_back(Seconds(now - last).count());
    last = now;
  }
  return samples;
}

/// A measured fact: the median of `samples`.
[[nodiscard]] inline planner::Fact measured_fact(const Samples& samples, std::string note) {
  return {.value = median(samples),
          .deviation = robust_deviation(samples),
          .count = static_cast<std::int64_t>(samples.size()),
          .source = planner::Source::measured,
          .note = std::move(note)};
}

/// A measured rate: `amount` over each sample's seconds.
[[nodiscard]] inline planner::Fact measured_rate(double amount, Samples samples, std::string note) {
  for (double& sample : samples) sample = amount / std::max(sample, 1e-9);
  return measured_fact(samples, std::move(note));
}

}  // namespace sluice::profiler
