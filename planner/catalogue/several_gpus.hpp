// Machines with several GPUs of one kind in one host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/catalogue/composed_machine.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// Parts of a machine with `gpus` GPUs of one kind. Its CPU and memory are those of one socket.
struct CountedParts {
  std::int64_t gpus = 1;
  Composition parts;
  friend bool operator==(const CountedParts&, const CountedParts&) = default;
};
/// find_composition() of a name that counted_machine() takes apart.
[[nodiscard]] std::optional<CountedParts> find_counted_parts(const std::string& text);
/// The shortest text that find_counted_parts() parses as `parts`.
[[nodiscard]] std::string to_text(const CountedParts& parts);

/// Number of sockets of a host with `gpus` GPUs: a server has one for each four, others have one.
[[nodiscard]] std::int64_t sockets_of(const CpuPart& cpu, std::int64_t gpus);
/// Number of PCIe lanes of each GPU, 16, 8 or 4: as many as the CPUs have beside the SSDs'; modules
/// of nodes have switches. Throws BadRequest where the CPUs have fewer than 4 for each.
[[nodiscard]] std::int64_t lanes_of_each(const CountedParts& machine);

/// The catalogue's profile of the build `name` with the host of a whole node where that profile was
/// measured on one GPU's share of one (parts/nodes.json); unchanged for other builds.
[[nodiscard]] MachineProfile with_node_host(MachineProfile profile, const std::string& name);

/// `one`, the profile of a machine of `parts`, with `gpus` GPUs (2 to 8) in its host: their number,
/// their fabric, and what they have to share.
///
///   host     the parts' CPU and memory, once a socket (sockets_of: cores, host and dram times the
///            sockets; updates on T threads as fast as T / sockets threads on each), and the SSDs.
///   links    lanes_of_each() PCIe lanes a GPU.
///
/// Throws BadRequest where a GPU brings its own host, where the CPU's lanes do not suffice, and
/// where nothing is known of what connects such GPUs.
[[nodiscard]] MachineProfile with_several_gpus(MachineProfile one, const Composition& parts,
                                               std::int64_t gpus);

}  // namespace sluice::planner
