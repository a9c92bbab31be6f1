#include "profiler/cupti/trace_overhead.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler::cupti {
namespace {

struct Median {
  double value = 0;
  double error = 0;  ///< Standard error of the median over the median.
};

Median median_of(std::span<const Seconds> steps) {
  std::vector<double> times;
  for (const Seconds step : steps) times.push_back(step.count());
  Median result{median(times), 0};
  if (result.value > 0) {
    const double error = robust_deviation(times) *
                         std::sqrt(std::numbers::pi / 2 / static_cast<double>(times.size()));
    result.error = error / result.value;
  }
  return result;
}

}  // namespace

TraceOverhead trace_overhead(std::span<const Seconds> untraced, std::span<const Seconds> traced) {
  const Median without = median_of(untraced);
  const Median with = median_of(traced);
  TraceOverhead overhead{.untraced = Seconds(without.value),
                         .traced = Seconds(with.value),
                         .untraced_steps = untraced.size(),
                         .traced_steps = traced.size()};
  if (without.value > 0) {
    overhead.share = with.value / without.value - 1;
    overhead.deviation = (1 + overhead.share) * std::hypot(without.error, with.error);
  }
  return overhead;
}

std::optional<std::string> why_unfit(const TraceOverhead& overhead) {
  if (overhead.untraced_steps < kFewestSteps || overhead.traced_steps < kFewestSteps) {
    return fmt::format(
        "what tracing costs is unknown: {} untraced and {} traced steps were measured, at least {} "
        "of each are needed",
        overhead.untraced_steps, overhead.traced_steps, kFewestSteps);
  }
  if (overhead.share <= kMostTraceOverhead) return std::nullopt;
  return fmt::format(
      "tracing costs {:.1f} +- {:.1f} % of a step, more than {:.0f} % ({:.3f} ms traced, {:.3f} ms "
      "not; medians of {} and {} steps){}",
      100 * overhead.share, 100 * overhead.deviation, 100 * kMostTraceOverhead,
      1e3 * overhead.traced.count(), 1e3 * overhead.untraced.count(), overhead.traced_steps,
      overhead.untraced_steps, is_undecided(overhead) ? ": measure more steps" : "");
}

bool is_undecided(const TraceOverhead& overhead) {
  return overhead.share > kMostTraceOverhead &&
         overhead.share - 2 * overhead.deviation <= kMostTraceOverhead;
}

}  // namespace sluice::profiler::cupti
