// Which device slot each use of a streamed block finds its weights in, and which uses need no load.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::planner {

/// One pass of compute over one block's weights, in the order the compute lane makes them.
struct WeightUse {
  std::int64_t block;  ///< Any integer id of the weights.
};

struct SlotAssignment {
  std::int64_t slot;
  bool loads;  ///< False where the block is still in the slot from an earlier use.
};

/// Assigns `slots` buffers to `uses`, when the load of use i is issued while uses i - depth .. i -
/// 1 still hold theirs. A slot outside that window is chosen by Belady's rule (furthest next use;
/// the longest unused of equals), so that the last blocks of the forward pass are still there when
/// the backward pass begins. Requires 0 <= depth < slots.
[[nodiscard]] std::vector<SlotAssignment> assign_slots(const std::vector<WeightUse>& uses,
                                                       std::int64_t slots, std::int64_t depth);

}  // namespace sluice::planner
