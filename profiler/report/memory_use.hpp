// Use of an arena over a step: the bytes that hold something, instant by instant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "profiler/traces/recorder.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// Use of an arena by part, as a step function: from `at[i]` on, part p holds `bytes[p][i]`.
struct MemoryUse {
  /// Names of parts: those that never change first, then largest first.
  std::vector<std::string> parts;
  std::vector<Duration> at;  ///< Instants from the end of s2/grads on; the first is 0.
  std::vector<std::vector<std::int64_t>> bytes;
};

/// The use of `arena` between the ends of s2/grads and s3/grads: persistent tensors all the time,
/// others from the start of the first task of a step that touches them to the end of its last one.
/// `spans` are parallel to the graph's tasks, predicted or measured.
[[nodiscard]] MemoryUse memory_use(const planner::StepGraph& graph,
                                   const std::vector<Recorder::Span>& spans, planner::Arena arena);

/// `use` thinned to at most `most` instants: the fullest one of each stretch of equal length.
[[nodiscard]] MemoryUse thinned(const MemoryUse& use, std::size_t most);

}  // namespace sluice::profiler
