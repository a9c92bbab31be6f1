// A measured machine some of whose parts are replaced.
#pragma once

#include "planner/catalogue/composed_machine.hpp"

namespace sluice::planner {

/// `measured`, the profile of a machine of the parts `from`, with the parts `to` in their place:
/// numbers that differ between compose(from) and compose(to) are those of compose(to), and all
/// others stay as they were measured.
[[nodiscard]] MachineProfile with_parts(const MachineProfile& measured, const Composition& from,
                                        const Composition& to);

}  // namespace sluice::planner
