// Live ranges: the first and last access to a tensor on every lane, in every step of a step graph.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "planner/graph/happens_before.hpp"
#include "planner/graph/step_graph.hpp"

namespace sluice::planner {

/// First and last task on each lane that touch a tensor in one step; none on a lane where no task
/// touches it.
struct LiveRange {
  struct Ends {
    sim::TaskId first, last;
  };
  std::array<std::optional<Ends>, kLaneKinds> lanes;

  void touch(LaneKind lane, sim::TaskId task);
  [[nodiscard]] bool empty() const;
  /// First task of the range in the order of the graph's tasks. Requires a range that is not empty.
  [[nodiscard]] sim::TaskId first() const;
  [[nodiscard]] sim::TaskId last() const;
};

/// Whether every task of `a` is over before any task of `b` starts, by `happens_before`.
[[nodiscard]] bool precedes(const LiveRange& a, const LiveRange& b,
                            const HappensBefore& happens_before);

/// Live ranges of all tensors of `graph`, by tensor index, then by step (1 to 3, at index 0 to 2).
[[nodiscard]] std::vector<std::array<LiveRange, 3>> live_ranges(const StepGraph& graph);

/// Whether two tensors are used by turns: in each step every use of `first` is over before any of
/// `second`, and all uses of `second` before any of `first` in the next step.
[[nodiscard]] bool alternate(const std::array<LiveRange, 3>& first,
                             const std::array<LiveRange, 3>& second,
                             const HappensBefore& happens_before);

/// Whether neither tensor is ever in use while the other is: their uses are ordered, in the same
/// way in each step and from each step to the next.
[[nodiscard]] bool never_overlap(const std::array<LiveRange, 3>& a,
                                 const std::array<LiveRange, 3>& b,
                                 const HappensBefore& happens_before);

}  // namespace sluice::planner
