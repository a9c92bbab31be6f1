#include "profiler/traces/simulated_keys.hpp"

#include <variant>
#include <vector>

#include "planner/graph/steady_state.hpp"
#include "sim/error.hpp"
#include "sim/simulate.hpp"

namespace sluice::profiler {

double seconds_alone(const sim::Task& task) {
  if (const auto* fixed = std::get_if<Seconds>(&task.work)) {
    return (task.latency + *fixed).count();
  }
  const auto& flow = std::get<sim::Flow>(task.work);
  if (!flow.cap || flow.amount.count() == 0) return task.latency.count();
  return (task.latency + flow.amount / *flow.cap).count();
}

SimulatedKeys simulated_keys(planner::StepGraph& graph) {
  const sim::Timeline timeline = planner::simulate_steady(graph);
  SimulatedKeys simulated;
  const std::size_t period = graph.tasks_per_step;
  std::vector<Seconds> durations(period);
  for (std::size_t i = 0; i < period; ++i) {
    const auto& span = timeline.spans[period + i];
    durations[i] = to_seconds(span.end - span.start);
    simulated.task[graph.tasks[i].cost] = &graph.graph.tasks()[period + i];
  }
  simulated.keys = by_key(graph, durations);
  check(graph.graph.period().has_value(), "a step graph has a period");
  simulated.step = to_seconds(timeline.period(*graph.graph.period()));
  return simulated;
}

}  // namespace sluice::profiler
