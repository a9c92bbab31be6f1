// Edges from accesses: tasks are added in an order whose sequential execution is right, and every
// task then waits for whatever it reads to be written, and for whatever it overwrites to be read
// (StarPU calls it sequential data consistency). Buffer reuse needs no rule of its own.
#pragma once

#include <span>
#include <vector>

#include "planner/graph/step_graph.hpp"

namespace sluice::planner {

class DataDependencies {
 public:
  /// Tasks that must end before a task of `lane` with `accesses` starts, in no order and possibly
  /// repeated; of tasks that share a lane, whose order is that of adding, perhaps the last alone.
  /// Records the accesses as made by `task`.
  void add(sim::TaskId task, LaneKind lane, std::span<const Access> accesses,
           std::vector<sim::TaskId>& before);

 private:
  struct Touch {
    std::int64_t begin, end;
    sim::TaskId task;
  };
  /// Touches of one lane, all reading or all writing, one behind the other: the chunks of a copy.
  /// Whoever covers them all waits for the last.
  struct Run {
    std::int64_t begin, end;  ///< Hull.
    LaneKind lane;
    bool writes;
    std::vector<Touch> touches;
  };
  void record(std::vector<Run>& runs, const Touch& touch, LaneKind lane, bool writes);

  std::vector<std::vector<Run>> by_tensor_;
};

}  // namespace sluice::planner
