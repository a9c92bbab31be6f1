// Edges of a task graph from the tasks' accesses. Tasks are added in an order whose sequential
// execution is right; every task then waits for what it reads to be written, and for what it
// overwrites to be read (StarPU calls it sequential data consistency). Buffer reuse needs no rule
// of its own.
#pragma once

#include <boost/container/small_vector.hpp>
#include <span>
#include <vector>

#include "planner/graph/step_graph.hpp"

namespace sluice::planner {

class DataDependencies {
 public:
  /// Dependencies of a graph that `ranks` ranks on `hosts` hosts execute. An access with a
  /// rank_stride counts as one to every rank's range, so that edges hold on each of them.
  explicit DataDependencies(std::int64_t ranks = 1, std::int64_t hosts = 1)
      : ranks_(ranks), hosts_(hosts) {}

  /// Notes that `task`, on `lane`, makes `accesses`, and appends to `before` the tasks that must
  /// end before it starts, in no order and possibly repeated. Where several of these run on one
  /// lane, which runs tasks in the order of adding, the last of them may stand for all.
  void add(sim::TaskId task, LaneKind lane, std::span<const Access> accesses,
           std::vector<sim::TaskId>& before);

 private:
  struct Touch {
    std::int64_t begin, end;
    sim::TaskId task;
  };
  /// Accesses of one lane to one tensor, all reading or all writing adjacent ranges, as the chunks
  /// of a copy do. A task whose access covers them all waits only for the last.
  struct Run {
    /// The smallest range that covers all touches of the run, in bytes from the start of the
    /// tensor.
    std::int64_t begin, end;
    LaneKind lane;
    bool writes;
    boost::container::small_vector<Touch, 2> touches;
  };
  /// Notes an access to bytes [begin, end) of `tensor`.
  void touch(std::size_t tensor, const Touch& added, LaneKind lane, bool writes,
             std::vector<sim::TaskId>& before);
  void record(std::vector<Run>& runs, const Touch& touch, LaneKind lane, bool writes);

  std::int64_t ranks_, hosts_;
  std::vector<std::vector<Run>> by_tensor_;
};

}  // namespace sluice::planner
