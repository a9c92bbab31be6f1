// Bytes of an arena that hold something, instant by instant of a step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "profiler/traces/recorder.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// A step function: from `at[i]` on, part p holds `bytes[p][i]`.
struct MemoryUse {
  std::vector<std::string> parts;  ///< Largest first; those that never change come before others.
  std::vector<Duration> at;        ///< From the end of s2/grads on; the first is 0.
  std::vector<std::vector<std::int64_t>> bytes;
};

/// Tensors of `arena` that are in use between the ends of s2/grads and s3/grads: persistent ones
/// all the time, others from the start of the first task of a step that touches them to the end of
/// its last one. `spans` as trace_of takes them, predicted or measured.
[[nodiscard]] MemoryUse memory_use(const planner::StepGraph& graph,
                                   const std::vector<Recorder::Span>& spans, planner::Arena arena);

/// At most `most` instants: of each stretch of equal length the fullest one.
[[nodiscard]] MemoryUse thinned(const MemoryUse& use, std::size_t most);

}  // namespace sluice::profiler
