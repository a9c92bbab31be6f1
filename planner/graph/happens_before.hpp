// Which task is certainly over before another starts, whatever the timing: lane order and edges,
// transitively.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/task_graph.hpp"

namespace sluice::planner {

/// Vector clocks over lanes, O(tasks x lanes) memory: task b knows, for every lane, how many of the
/// lane's tasks have ended before b starts. (C. Fidge 1988, F. Mattern 1989.)
class HappensBefore {
 public:
  /// `graph` must be acyclic with every edge pointing from an earlier added task to a later one.
  explicit HappensBefore(const sim::TaskGraph& graph);

  /// True if `a` has ended before `b` starts in every execution.
  [[nodiscard]] bool operator()(sim::TaskId a, sim::TaskId b) const {
    return known_[index(b) * lanes_ + lane_[index(a)]] >= position_[index(a)] && a != b;
  }

 private:
  std::size_t lanes_;
  std::vector<std::uint32_t> lane_;     // of a task
  std::vector<std::int32_t> position_;  // of a task on its lane, from 1
  std::vector<std::int32_t> known_;     // [task][lane]: tasks of the lane that ended before
};

}  // namespace sluice::planner
