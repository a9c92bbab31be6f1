// Changes of a machine that can be ordered: every one leaves parts that go together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/catalogue/composed_machine.hpp"

namespace sluice::planner {

struct PartChange {
  std::string what;  ///< "+2 DIMMs: 4x32 GiB DDR5-5600 at 3600 MT/s instead of 2x32 GiB at 5600".
  std::string setting;  ///< --ram "4x32 GiB DDR5-5600"
  Composition parts;
};

/// More modules, larger ones, faster ones; a board with the next wider memory; a GPU a step
/// faster and one about twice as fast; one more drive. Each differs from `parts` by one order.
[[nodiscard]] std::vector<PartChange> part_changes(const Composition& parts);

/// The smallest kit that holds `needed` usable bytes, on the same board; none where no kit does.
[[nodiscard]] std::optional<Composition> with_memory_for(const Composition& parts, Bytes needed);

/// The same on the narrowest other board that takes it, where the machine's own does not; modules
/// of at most 128 GiB.
[[nodiscard]] std::optional<Composition> with_board_for(const Composition& parts, Bytes needed);

/// Large products a second: what GPUs are ranked by.
[[nodiscard]] FlopsPerSecond product_rate(const GpuPart& gpu);

}  // namespace sluice::planner
