// Writer of trace-event files, which Perfetto and chrome://tracing open.
#pragma once

#include <string>
#include <vector>

#include "sim/trace.hpp"

namespace sluice::sim {

/// A quantity's value from `at` until its next sample; drawn above the lanes.
struct CounterSample {
  std::string counter;
  Instant at;
  double value;
};

/// A trace with the name that is shown above its lanes, such as "predicted" or "measured".
struct NamedTrace {
  std::string name;
  Trace trace;
  std::vector<CounterSample> counters = {};
};

/// Text of a trace-event file. Each trace becomes a process, and each of its lanes a thread, in
/// order of first appearance; each task becomes a complete event with its kind as category and
/// `bytes` and `source` as arguments. Instants keep their nanoseconds.
[[nodiscard]] std::string write_chrome_trace(const std::vector<NamedTrace>& traces);

}  // namespace sluice::sim
