// Time of each cost key in a simulated step, in the form that key_times.hpp has for measured ones.
#pragma once

#include <map>

#include "planner/graph/step_graph.hpp"
#include "profiler/traces/key_times.hpp"

namespace sluice::profiler {

/// Simulated step time, and the time of each cost key in the middle step. Points into the graph,
/// which must outlive it.
struct SimulatedKeys {
  KeyTimes keys;
  /// One task of each key, as an example of its cost.
  std::map<planner::CostKey, const sim::Task*> task;
  Seconds step{0};
};

[[nodiscard]] SimulatedKeys simulated_keys(planner::StepGraph& graph);

/// Seconds that `task` takes with nothing beside it, by its cost.
[[nodiscard]] double seconds_alone(const sim::Task& task);

}  // namespace sluice::profiler
