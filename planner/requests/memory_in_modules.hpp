// Memory that a run lacks, as modules that can be ordered.
#pragma once

#include "planner/requests/request.hpp"
#include "planner/search/remedies.hpp"

namespace sluice::planner {

/// The order of memory for a run (remedies_for). Host memory of a machine of known parts comes in
/// the smallest kit that its board takes and that is enough (--ram), or on the next board that has
/// one (--cpu, --ram), and the machine has that kit's rates. Where the run limits the host's
/// memory, where memory of other tiers is short and where parts are not known, it is more_memory.
/// `request` must outlive what is returned.
[[nodiscard]] MemoryOrder memory_in_modules(const Request& request);

}  // namespace sluice::planner
