// Comparison of two traces of one step graph, by task kind and by lane.
#pragma once

#include <string>
#include <vector>

#include "sim/trace.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// Sums over the tasks of one kind (or lane) that both traces have.
struct ComparisonRow {
  std::string name;
  std::size_t count = 0;
  Seconds a{0};  ///< Sum of the tasks' durations in the first trace.
  Seconds b{0};  ///< Sum of the tasks' durations in the second trace.
  [[nodiscard]] Seconds difference() const { return b - a; }
};

struct Comparison {
  /// A row for each kind of task, in the order in which the traces first name them.
  std::vector<ComparisonRow> kinds;
  std::vector<ComparisonRow> lanes;
  std::vector<std::string> only_a;  ///< Ids of tasks that only the first trace has.
  std::vector<std::string> only_b;
  /// Step times (step_period) of the first and of the second trace.
  Seconds step_a{0};
  Seconds step_b{0};
};

/// The spans of `trace` that belong to steps `first` to `last`, both included. Steps count from 1
/// to 3, as the ids of their tasks do: "s2/grads" is of step 2.
[[nodiscard]] sim::Trace steps_of(const sim::Trace& trace, int first, int last);

[[nodiscard]] Comparison compare(const sim::Trace& a, const sim::Trace& b);

/// Step time of a trace: from the end of task "s2/grads", the last gradient of step 2, to that of
/// "s3/grads". Zero where the trace lacks either.
[[nodiscard]] Seconds step_period(const sim::Trace& trace);

/// Tables of the comparison for the terminal; `a` and `b` are the headings of the two traces'
/// columns.
[[nodiscard]] std::string comparison_text(const Comparison& comparison, const std::string& a,
                                          const std::string& b);
[[nodiscard]] std::string comparison_json(const Comparison& comparison);

}  // namespace sluice::profiler
