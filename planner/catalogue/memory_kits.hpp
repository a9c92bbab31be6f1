// Memory modules that give a machine of parts enough host memory.
#pragma once

#include <optional>

#include "planner/catalogue/composed_machine.hpp"

namespace sluice::planner {

/// `parts` with the smallest memory kit of at least `needed` usable bytes that the board takes;
/// none where it takes no such kit.
[[nodiscard]] std::optional<Composition> with_memory_for(const Composition& parts, Bytes needed);

/// `parts` on another board with the smallest memory kit of at least `needed` usable bytes: the
/// board with the fewest memory channels that takes one, with modules of at most 128 GiB. For a
/// machine whose own board takes none. None where no board does.
[[nodiscard]] std::optional<Composition> with_board_for(const Composition& parts, Bytes needed);

}  // namespace sluice::planner
