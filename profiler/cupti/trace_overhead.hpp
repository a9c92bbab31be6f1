// Cost of tracing: steps with it compared with steps without it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "sim/units.hpp"

namespace sluice::profiler::cupti {

struct TraceOverhead {
  Seconds untraced{0}, traced{0};  ///< Median step time without tracing, and with it.
  double share = 0;                ///< Relative cost of tracing: traced / untraced - 1.
  double deviation = 0;            ///< Standard error of `share`, in the same unit.
  std::size_t untraced_steps = 0, traced_steps = 0;
};

/// Cost of tracing by the medians of both kinds of steps, and the error of their ratio. A median's
/// standard error is that of the mean of a normal sample, deviation / sqrt(n), times sqrt(pi / 2);
/// the deviation comes from the median absolute deviation, so that one interrupted step does not
/// hide the cost.
[[nodiscard]] TraceOverhead trace_overhead(std::span<const Seconds> untraced,
                                           std::span<const Seconds> traced);

/// Largest relative cost of tracing at which traced steps may be used for calibration.
inline constexpr double kMostTraceOverhead = 0.02;
/// Fewest traced steps, and fewest untraced ones, by which the cost of tracing can be told.
inline constexpr std::size_t kFewestSteps = 3;

/// Why traced steps may not be used for calibration, in one line: tracing costs more than
/// kMostTraceOverhead, or too few steps were measured to tell. None where they may.
[[nodiscard]] std::optional<std::string> why_unfit(const TraceOverhead& overhead);

/// Whether tracing seems to cost more than kMostTraceOverhead, but by no more than two standard
/// errors of that cost, so that more steps would tell.
[[nodiscard]] bool is_undecided(const TraceOverhead& overhead);

}  // namespace sluice::profiler::cupti
