// Machines with several GPUs of one kind in one host.
#pragma once

#include <cstdint>
#include <string>

#include "planner/catalogue/composed_machine.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// The catalogue's profile of the build `name` with the host of a whole node where that profile was
/// measured on one GPU's share of one (parts/nodes.json); unchanged for other builds.
[[nodiscard]] MachineProfile with_node_host(MachineProfile profile, const std::string& name);

/// `one`, the profile of a machine of `parts`, with `gpus` GPUs (2 to 8) in its host: their number,
/// their fabric, and what they have to share.
///
///   host     the parts' CPU, memory and SSDs, once. A server has a socket for each four GPUs, with
///            the memory of each (cores, host and dram times the sockets; updates on T threads as
///            fast as T / sockets threads on each).
///   links    PCIe lanes of the CPU beside the SSDs': each GPU has 16, 8 or 4 of them; modules of
///            nodes have switches, and 16.
///
/// Throws BadRequest where a GPU brings its own host, where the CPU's lanes do not suffice, and
/// where nothing is known of what connects such GPUs.
[[nodiscard]] MachineProfile with_several_gpus(MachineProfile one, const Composition& parts,
                                               std::int64_t gpus);

}  // namespace sluice::planner
