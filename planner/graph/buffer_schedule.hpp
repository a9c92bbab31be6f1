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
  std::int64_t block;  ///< Any integer that is the same for uses of the same block's weights.
};

struct SlotAssignment {
  std::int64_t slot;
  /// Whether the use's weights are loaded; false where they are still in the slot from an earlier
  /// use.
  bool loads;
};

/// Slot of each of `uses`, which share `slots` slots of a device ring. The load of use i is issued
/// while uses i - depth to i - 1 still hold their slots; of the other slots it takes one by
/// Belady's rule (furthest next use; the longest unused of equals), so that the last blocks of the
/// forward pass are still there when the backward pass begins. Requires 0 <= depth < slots.
[[nodiscard]] std::vector<SlotAssignment> assign_slots(const std::vector<WeightUse>& uses,
                                                       std::int64_t slots, std::int64_t depth);

}  // namespace sluice::planner
