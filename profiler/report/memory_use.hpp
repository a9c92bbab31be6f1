// Use of an arena over a step: which bytes hold something, instant by instant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "profiler/traces/recorder.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// Use of an arena by part, as a step function of time: from `at[i]` until `at[i + 1]`, part p
/// holds `bytes[p][i]` bytes.
struct MemoryUse {
  /// Names of the parts (StepTensor::part): first those whose use never changes, then the largest
  /// first.
  std::vector<std::string> parts;
  /// Instants at which the use changes, counted from the end of the second step's task `grads`; the
  /// first is 0.
  std::vector<Duration> at;
  std::vector<std::vector<std::int64_t>> bytes;
};

/// The use of `arena` from the end of task s2/grads to that of s3/grads, which is one step:
/// persistent tensors all the time, others from the start of the first task of a step that touches
/// them to the end of its last one. `spans` has one element a task of `graph`, predicted or
/// measured.
[[nodiscard]] MemoryUse memory_use(const planner::StepGraph& graph,
                                   const std::vector<Recorder::Span>& spans, planner::Arena arena);

/// `use` with at most `most` instants: the time is divided into equal stretches, and of each the
/// instant with the most bytes in use is kept.
[[nodiscard]] MemoryUse thinned(const MemoryUse& use, std::size_t most);

}  // namespace sluice::profiler
