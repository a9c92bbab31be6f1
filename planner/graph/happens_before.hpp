// Order of tasks that holds whatever the timing: by lane order and edges, transitively.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/task_graph.hpp"

namespace sluice::planner {

/// Answers which task ends before which, by vector clocks over lanes in O(tasks x lanes) memory:
/// for every task and lane, how many of the lane's tasks have ended before the task starts. (C.
/// Fidge 1988, F. Mattern 1989.)
class HappensBefore {
 public:
  /// Reads the order from `graph`, which must be acyclic; its edges must all point from an earlier
  /// added task to a later one.
  explicit HappensBefore(const sim::TaskGraph& graph);

  /// Whether task `a` has ended before task `b` starts in every execution.
  [[nodiscard]] bool operator()(sim::TaskId a, sim::TaskId b) const {
    return known_[index(b) * lanes_ + lane_[index(a)]] >= position_[index(a)] && a != b;
  }

 private:
  std::size_t lanes_;
  std::vector<std::uint32_t> lane_;     // Lane of each task.
  std::vector<std::int32_t> position_;  // Position of each task on its lane, from 1.
  // By task and lane: how many of the lane's tasks have ended before.
  std::vector<std::int32_t> known_;
};

}  // namespace sluice::planner
