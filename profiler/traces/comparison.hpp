// Two traces of one step graph compared, by task kind and by lane.
#pragma once

#include <string>
#include <vector>

#include "sim/trace.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// Tasks of one kind (or lane) that both traces hold.
struct ComparisonRow {
  std::string name;
  std::size_t count = 0;
  Seconds a{0};  ///< Sum of their durations in the first trace.
  Seconds b{0};  ///< Sum of their durations in the second trace.
  [[nodiscard]] Seconds difference() const { return b - a; }
};

struct Comparison {
  /// Tasks by kind, in the order in which the traces first name them.
  std::vector<ComparisonRow> kinds;
  std::vector<ComparisonRow> lanes;
  std::vector<std::string> only_a;  ///< Ids that only the first trace has.
  std::vector<std::string> only_b;
  /// Step times of the two traces (step_period).
  Seconds step_a{0};
  Seconds step_b{0};
};

/// The spans of `trace` that belong to steps `first` to `last`, both included. Steps count from 1
/// to 3, as the ids of their tasks do: "s2/grads" is of step 2.
[[nodiscard]] sim::Trace steps_of(const sim::Trace& trace, int first, int last);

[[nodiscard]] Comparison compare(const sim::Trace& a, const sim::Trace& b);

/// Step time of a trace: the time from the last gradient of step 2, the end of task "s2/grads", to
/// that of step 3. Zero where the trace lacks either.
[[nodiscard]] Seconds step_period(const sim::Trace& trace);

/// Tables for the terminal; `a` and `b` are the headings of the columns.
[[nodiscard]] std::string comparison_text(const Comparison& comparison, const std::string& a,
                                          const std::string& b);
[[nodiscard]] std::string comparison_json(const Comparison& comparison);

}  // namespace sluice::profiler
