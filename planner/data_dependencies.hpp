// Edges from accesses: tasks are added in an order whose sequential execution is right, and every
// task then waits for whatever it reads to be written, and for whatever it overwrites to be read
// (StarPU calls it sequential data consistency). Buffer reuse needs no rule of its own.
#pragma once

#include <span>
#include <vector>

#include "planner/step_graph.hpp"

namespace sluice::planner {

class DataDependencies {
 public:
  /// Tasks that must end before a task with `accesses` starts, in no order and possibly repeated.
  /// Records the accesses as made by `task`.
  void add(sim::TaskId task, std::span<const Access> accesses, std::vector<sim::TaskId>& before);

 private:
  struct Touch {
    std::int64_t begin, end;
    sim::TaskId task;
    bool writes;
  };
  std::vector<std::vector<Touch>> by_tensor_;
};

}  // namespace sluice::planner
