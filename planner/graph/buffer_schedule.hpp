// Assignment of device slots to streamed weights: which slot each use finds its block's weights in,
// and which uses need no load.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::planner {

/// One use of a block's weights by a pass; uses are given in the order in which the compute lane
/// makes them.
struct WeightUse {
  /// Number by which uses of the same block's weights are recognized: equal for these, and
  /// different from all others.
  std::int64_t block;
};

struct SlotAssignment {
  std::int64_t slot;
  /// Whether the weights are loaded into the slot for this use; false where they are still there
  /// from an earlier use.
  bool loads;
};

/// Slot of each of `uses`, which share `slots` slots of a device ring. The load of use i is issued
/// while uses i - depth to i - 1 still hold their slots; of the other slots it takes one by
/// Belady's rule (furthest next use; the longest unused of equals), so that the last blocks of the
/// forward pass are still there when the backward pass begins. Requires 0 <= depth < slots.
[[nodiscard]] std::vector<SlotAssignment> assign_slots(const std::vector<WeightUse>& uses,
                                                       std::int64_t slots, std::int64_t depth);

}  // namespace sluice::planner
