// A probed machine's measured passes, converted for the same machine with other numbers in its
// profile.
#pragma once

#include <vector>

#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// Passes of the machine `measured`, converted for the machine `changed`, which is the same but for
/// some numbers of its profile: each time changes as the profile's time of that pass does.
[[nodiscard]] std::vector<MeasuredPass> rescaled_passes(const MachineProfile& measured,
                                                        const MachineProfile& changed);

}  // namespace sluice::planner
