// Time of each cost key in a simulated step, as key_times.hpp has it for measured ones.
#pragma once

#include <map>

#include "planner/graph/step_graph.hpp"
#include "profiler/traces/key_times.hpp"

namespace sluice::profiler {

/// Step time, and the time of each key in the middle step. Points into the graph.
struct SimulatedKeys {
  KeyTimes keys;
  std::map<planner::CostKey, const sim::Task*> task;  ///< One task of each key.
  Seconds step{0};
};

[[nodiscard]] SimulatedKeys simulated_keys(planner::StepGraph& graph);

/// Seconds of a task by its cost, with nothing beside it.
[[nodiscard]] double seconds_alone(const sim::Task& task);

}  // namespace sluice::profiler
