// Start and end of each task of a graph.
#pragma once

#include <map>
#include <string>

#include "planner/graph/step_graph.hpp"
#include "sim/simulate.hpp"

namespace sluice::planner::test {

using TaskSpans = std::map<std::string, sim::Timeline::Span>;

/// Simulated start and end of each of the graph's tasks, by task id.
inline TaskSpans spans_of(const StepGraph& graph) {
  const sim::Timeline timeline = sim::simulate(graph.graph);
  TaskSpans spans;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    spans[graph.graph.tasks()[i].id] = timeline.spans[i];
  }
  return spans;
}

}  // namespace sluice::planner::test
