// Device slots for streamed weights: which slot each use finds its weights in, and which uses need
// no load.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::planner {

/// One use of a block's weights by a compute pass, in the order of the compute lane.
struct WeightUse {
  std::int64_t block;  ///< The block whose weights are used: any integer id.
};

struct SlotAssignment {
  std::int64_t slot;
  /// Whether weights are loaded; false where they are still in the slot from an earlier use.
  bool loads;
};

/// Assigns one of `slots` buffers to each of `uses`. The load of use i is issued while uses i -
/// depth to i - 1 still hold theirs; another slot is chosen by Belady's rule (furthest next use;
/// the longest unused of equals), so that the last blocks of the forward pass are still there when
/// the backward pass begins. Requires 0 <= depth < slots.
[[nodiscard]] std::vector<SlotAssignment> assign_slots(const std::vector<WeightUse>& uses,
                                                       std::int64_t slots, std::int64_t depth);

}  // namespace sluice::planner
