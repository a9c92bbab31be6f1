// What each cost key takes of a simulated step: the counterpart of key_times.hpp's measured ones.
#pragma once

#include <map>

#include "planner/graph/step_graph.hpp"
#include "profiler/traces/key_times.hpp"

namespace sluice::profiler {

/// Step time, and what each key takes of the middle step. Points into the graph.
struct SimulatedKeys {
  KeyTimes keys;
  std::map<planner::CostKey, const sim::Task*> task;  ///< One of each key.
  Seconds step{0};
};

[[nodiscard]] SimulatedKeys simulated_keys(planner::StepGraph& graph);

/// What a task takes by its cost, with nothing beside it.
[[nodiscard]] double seconds_alone(const sim::Task& task);

}  // namespace sluice::profiler
