// Writer of trace-event files, which Perfetto and chrome://tracing open.
#pragma once

#include <string>
#include <vector>

#include "sim/trace.hpp"

namespace sluice::sim {

/// A quantity over time, drawn above the lanes; `value` holds from `at` on.
struct CounterSample {
  std::string counter;
  Instant at;
  double value;
};

/// A trace and the name shown with its lanes ("predicted", "measured").
struct NamedTrace {
  std::string name;
  Trace trace;
  std::vector<CounterSample> counters = {};
};

/// Writes traces. Each trace becomes a process, and each of its lanes a thread, in order of first
/// appearance; each task becomes a complete event with its kind as category and `bytes` and
/// `source` as arguments. Instants keep their nanoseconds.
[[nodiscard]] std::string write_chrome_trace(const std::vector<NamedTrace>& traces);

}  // namespace sluice::sim
