#include "sim/simulated_trace.hpp"

namespace sluice::sim {

Trace simulated_trace(const TaskGraph& graph, const Timeline& timeline) {
  Trace trace;
  trace.spans.reserve(graph.tasks().size());
  for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
    const Task& task = graph.tasks()[i];
    trace.spans.push_back({.id = task.id,
                           .lane = graph.lanes()[index(task.lane)].name,
                           .kind = std::holds_alternative<Flow>(task.work) ? "flow" : "fixed",
                           .start = timeline.spans[i].start,
                           .end = timeline.spans[i].end,
                           .bytes = Bytes(0),
                           .source = SpanSource::simulated});
  }
  return trace;
}

}  // namespace sluice::sim
