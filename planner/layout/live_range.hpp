// Live ranges: the first and last access to a tensor on every lane, in every step of a step graph.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "planner/graph/happens_before.hpp"
#include "planner/graph/step_graph.hpp"

namespace sluice::planner {

/// First and last task on each lane that touch a tensor in one step.
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

/// Whether every task of `a` is over before any task of `b` starts.
[[nodiscard]] bool precedes(const LiveRange& a, const LiveRange& b,
                            const HappensBefore& happens_before);

/// Live ranges by tensor and step (1 to 3, at index 0 to 2).
[[nodiscard]] std::vector<std::array<LiveRange, 3>> live_ranges(const StepGraph& graph);

/// Whether in each step every use of `first` is over before any of `second`, and those before the
/// next step's uses of `first`.
[[nodiscard]] bool alternate(const std::array<LiveRange, 3>& first,
                             const std::array<LiveRange, 3>& second,
                             const HappensBefore& happens_before);

/// Whether neither tensor is ever in use while the other is: ordered the same way in each step, and
/// from each to the next.
[[nodiscard]] bool never_overlap(const std::array<LiveRange, 3>& a,
                                 const std::array<LiveRange, 3>& b,
                                 const HappensBefore& happens_before);

}  // namespace sluice::planner
