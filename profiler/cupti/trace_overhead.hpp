// What tracing costs: steps with it beside steps without it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "sim/units.hpp"

namespace sluice::profiler::cupti {

struct TraceOverhead {
  Seconds untraced{0}, traced{0};  ///< Medians.
  double share = 0;                ///< traced / untraced - 1.
  double deviation = 0;            ///< Standard error of `share`.
  std::size_t untraced_steps = 0, traced_steps = 0;
};

/// Medians and the error of their ratio. A median's standard error is that of the mean of a normal
/// sample, deviation / sqrt(n), times sqrt(pi / 2); the deviation comes from the median absolute
/// deviation, so that one interrupted step does not hide the cost.
[[nodiscard]] TraceOverhead trace_overhead(std::span<const Seconds> untraced,
                                           std::span<const Seconds> traced);

inline constexpr double kMostTraceOverhead = 0.02;  ///< Of a step.
inline constexpr std::size_t kFewestSteps = 3;      ///< Of each kind.

/// Why traced steps may not calibrate, in one line: tracing costs more than kMostTraceOverhead, or
/// too few steps were measured to tell.
[[nodiscard]] std::optional<std::string> why_unfit(const TraceOverhead& overhead);

/// Tracing seems to cost more than kMostTraceOverhead, and two standard errors could explain it:
/// more steps would tell.
[[nodiscard]] bool is_undecided(const TraceOverhead& overhead);

}  // namespace sluice::profiler::cupti
