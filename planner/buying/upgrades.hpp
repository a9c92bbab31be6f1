// Changes of a machine that can be ordered; each leaves parts that go together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/catalogue/composed_machine.hpp"

namespace sluice::planner {

struct PartChange {
  /// The change in words, such as "+2 DIMMs: 4x32 GiB DDR5-5600 at 3600 MT/s instead of 2x32 GiB at
  /// 5600".
  std::string what;
  std::string setting;  ///< The flag that states it, such as --ram "4x32 GiB DDR5-5600".
  Composition parts;
};

/// Machines that differ from `parts` by one order: more modules, larger ones, faster ones; a board
/// with the next wider memory; a GPU a step faster, and one about twice as fast; one more drive.
[[nodiscard]] std::vector<PartChange> part_changes(const Composition& parts);

/// The machine with the smallest kit that holds `needed` usable bytes on the same board; none where
/// no kit does.
[[nodiscard]] std::optional<Composition> with_memory_for(const Composition& parts, Bytes needed);

/// The machine with the smallest kit that holds `needed` usable bytes on the narrowest other board,
/// for a machine whose own board holds none; modules of at most 128 GiB. None where no board does.
[[nodiscard]] std::optional<Composition> with_board_for(const Composition& parts, Bytes needed);

/// FLOP/s of large products, by which GPUs are ranked.
[[nodiscard]] FlopsPerSecond product_rate(const GpuPart& gpu);

}  // namespace sluice::planner
