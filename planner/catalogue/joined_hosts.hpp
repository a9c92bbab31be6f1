// The profile of several equal hosts that a network joins.
#pragma once

#include <cstdint>

#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// The profile of `hosts` hosts like `one`, of whose GPUs `local` are used in each: memory, cores
/// and drives are those of all hosts, of which each rank takes its part, and collectives also cross
/// the network, of which each host sends, and receives, `nic` by all its NICs together. Between
/// hosts, every run of a gather enters a host once, and of an exchange once for each of its ranks;
/// both follow what moves inside the hosts (a rule). Where it is faster, gradients are summed
/// inside hosts before they are exchanged (FabricLevels). Throws BadRequest where nothing is known
/// of collectives inside a host.
[[nodiscard]] MachineProfile profile_of_hosts(MachineProfile one, std::int64_t hosts,
                                              BytesPerSecond nic, std::int64_t local);

}  // namespace sluice::planner
